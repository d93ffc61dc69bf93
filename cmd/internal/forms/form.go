package forms

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
)

// Bounds of a form, besides its file.
const (
	maxFields = 64
	maxField  = 8 << 10   // bytes of a field
	maxAround = 256 << 10 // bytes before the file, and behind it
)

// form is a multipart form whose fields are read before its file, and behind it.
type form struct {
	fields  map[string]string
	names   map[string]string // the fields that are looked at, in lower case, with their one name
	files   string            // the names of the file, with blanks
	budget  *budget
	parts   *multipart.Reader
	end     string          // the last boundary
	file    *multipart.Part // nil = there is none, or none yet
	seen    int
	strict  bool // a field that is not looked at is refused
	settled bool // the file was read: fields may be added, and none changed
}

// openForm begins to read a form; the query of its URL may have fields too. names are the
// spellings of fields with their one name; files are the names of the file.
func (e *Exchange) openForm(names map[string]string, files string) (*form, error) {
	return e.open(&form{names: names, files: files})
}

// openStrictForm is openForm of a form in which every field must be one of names.
func (e *Exchange) openStrictForm(names map[string]string, files string) (*form, error) {
	return e.open(&form{names: names, files: files, strict: true})
}

func (e *Exchange) open(f *form) (*form, error) {
	kind, params, err := mime.ParseMediaType(e.R.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, invalid("send multipart/form-data, as curl does with -F", "the body is no form")
	}
	f.fields = map[string]string{}
	deadline := http.NewResponseController(e.W).SetReadDeadline
	f.budget = &budget{body: drops.Patient(e.R.Body, deadline), left: maxAround}
	f.end = "--" + params["boundary"] + "--"
	f.parts = multipart.NewReader(f.budget, params["boundary"])
	if err := f.query(e.R.URL.RawQuery); err != nil {
		return nil, err
	}
	return f, nil
}

// query sets the fields that stand in the URL.
func (f *form) query(raw string) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return invalid("write it as name=value&name=value", "the fields cannot be read")
	}
	for name, all := range values {
		for _, value := range all {
			if err := f.set(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// encoded sets the fields of a body that is encoded as the query of a URL is, as browsers
// encode forms without files.
func (f *form) encoded(e *Exchange) error {
	kind, _, err := mime.ParseMediaType(e.R.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return invalid("send application/x-www-form-urlencoded, as curl does with -d, or ask with GET", "the body is no form")
	}
	deadline := http.NewResponseController(e.W).SetReadDeadline
	body, err := io.ReadAll(io.LimitReader(drops.Patient(e.R.Body, deadline), maxField+1))
	if err != nil {
		return broken(err)
	}
	if len(body) > maxField {
		return invalid("leave out what is not needed", "the form has more than %d bytes", maxField)
	}
	return f.query(string(body))
}

// set sets a field; others than those that are looked at are left out, or refused if they
// say something.
func (f *form) set(name, value string) error {
	one, known := f.names[strings.ToLower(name)]
	if !known && f.strict && value != "" {
		fields := slices.Sorted(maps.Values(f.names))
		return invalid("leave it out; these are served: "+strings.Join(fields, ", "), "the field %.80q is not served", name)
	}
	if !known {
		return nil
	}
	was, there := f.fields[one]
	if there && was != value || f.settled && !there && value != "" && early[one] {
		return invalid("send it once, before the file", "the field %.80q comes twice, or after the file", name)
	}
	f.fields[one] = value
	return nil
}

// early are fields that say what to do with the file while it is read.
var early = map[string]bool{"operation": true, fieldUser: true, fieldPassword: true}

// untilFile reads the fields before the file. There may be no file.
func (f *form) untilFile() error {
	for {
		part, err := f.next()
		if err != nil || part == nil {
			return err
		}
		name := part.FormName()
		if isFile := strings.Contains(" "+f.files+" ", " "+name+" "); isFile && part.FileName() != "" {
			f.file, f.budget.left = part, math.MaxInt64 // the receiver bounds it
			return nil
		} else if isFile {
			return invalid(`send a file, as curl -F "`+name+`=@FILE" does`, "the field %s is no file", name)
		}
		if err := f.read(part); err != nil {
			return err
		}
	}
}

// rest reads the fields behind the file, once that was read.
func (f *form) rest() error {
	f.settled, f.budget.left = true, maxAround
	for {
		part, err := f.next()
		if err != nil || part == nil {
			return err
		}
		if part.FileName() != "" {
			return invalid("send one file in a form; a manifest can list many", "there is a second file, %.80q, in the field %.80q", part.FileName(), part.FormName())
		}
		if err := f.read(part); err != nil {
			return err
		}
	}
}

// next returns the next part, nil at the end. A form whose body ends among the lines that
// begin a part is broken, which the library takes for the end.
func (f *form) next() (*multipart.Part, error) {
	part, err := f.parts.NextPart()
	if errors.Is(err, io.EOF) && (!f.budget.ended || bytes.Contains(f.budget.last, []byte(f.end))) {
		return nil, nil
	}
	if f.seen++; err == nil && f.seen > maxFields {
		err = invalid("leave out what is not needed", "the form has more than %d fields", maxFields)
	}
	return part, broken(err)
}

// read reads a field.
func (f *form) read(part *multipart.Part) error {
	value, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err == nil && len(value) > maxField {
		err = invalid("shorten it", "the field %.80q has more than %d bytes", part.FormName(), maxField)
	}
	if err != nil {
		return broken(err)
	}
	return f.set(part.FormName(), string(value))
}

// body returns the content of the file.
func (f *form) body() io.Reader { return whole{f.file} }

// whole is a file whose form may be broken.
type whole struct{ file io.Reader }

// Read implements io.Reader.
func (w whole) Read(p []byte) (int, error) {
	n, err := w.file.Read(p)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = broken(err)
	}
	return n, err
}

// broken returns the error about a form that cannot be read.
func broken(err error) error {
	if _, known := errors.AsType[*app.Error](err); known || err == nil {
		return err
	}
	return invalid("send it again; curl -F makes such forms", "the form is broken, or ends early")
}

// budget is a body of which so many bytes may be read.
type budget struct {
	body  io.Reader
	left  int64
	last  []byte // what was read last, more than the library reads ahead
	ended bool
}

// keptLast is how much of what was read last is kept.
const keptLast = 8 << 10

// Read implements io.Reader.
func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, invalid("leave out what is not needed", "the form has more than %d KiB besides its file", maxAround>>10)
	}
	n, err := b.body.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.last = append(b.last, p[max(0, n-keptLast):n]...)
	b.last = append(b.last[:0], b.last[max(0, len(b.last)-keptLast):]...)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}
