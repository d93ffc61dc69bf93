package forms

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/app/ratelimit"
	"github.com/accession-ingest/accession/cmd/internal/app/synchronous"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/text"
)

// crossrefFields are the fields of Crossref's forms, in both of their spellings.
var crossrefFields = map[string]string{"operation": "operation", "profile": "profile", "login_id": fieldUser, "usr": fieldUser, "login_passwd": fieldPassword, "pwd": fieldPassword}

const crossrefFiles = "fname mdFile"

// The operations of Crossref's forms.
const (
	doMDUpload           = "doMDUpload"
	doQueryUpload        = "doQueryUpload"
	doDOIQueryUpload     = "doDOIQueryUpload"
	doDOICitUpload       = "doDOICitUpload"
	doTransferDOIsUpload = "doTransferDOIsUpload"
)

// received is the answer to what was accepted; clients search it for its sentence.
const received = `<html>
<head><title>SUCCESS</title></head>
<body>
<h2>SUCCESS</h2>
<p>Your batch submission was successfully received.</p>
</body>
</html>
`

// queued takes a deposit that waits for its turn, or a query.
func queued(e *Exchange) error {
	f, err := e.crossref(doQueryUpload, doDOIQueryUpload, doMDUpload)
	if err != nil {
		return err
	}
	switch op := cmp.Or(f.fields["operation"], doMDUpload); op {
	case doMDUpload:
		return e.deposit(f)
	case doQueryUpload, doDOIQueryUpload:
		return e.ask(f)
	default:
		return notServed(op, doMDUpload, doQueryUpload, doDOIQueryUpload)
	}
}

// full refuses, before the body is read, a form of a caller of whom too many deposits or queries
// wait for the operation of its URL. If there is none, the body may still name any of those that
// are served, and none of them may have room.
func (e *Exchange) full(named string, served ...string) error {
	var err error
	for _, op := range served {
		if named != "" && named != op {
			continue
		}
		if op == doMDUpload && e.caller.FilterFor(access.Deposit).Empty() { // who has no right is told that
			return nil
		}
		if err = e.room(op); err == nil {
			return nil
		}
	}
	return err
}

// room refuses one more deposit or query of the caller, of whom too many wait. What had room for
// a request is not counted again for it.
func (e *Exchange) room(op string) error {
	ctx, r, count, of := e.R.Context(), e.receiver(), (*drops.Receiver).RoomForQuery, "queries"
	if op == doMDUpload {
		count, of = (*drops.Receiver).Room, "deposits"
	}
	if slices.Contains(e.counted, of) {
		return nil
	}
	if err := count(r, ctx, e.caller.Name, ""); err != nil {
		return err
	}
	ratelimit.Set(e.W.Header(), r.Limit())
	e.counted = append(e.counted, of)
	return nil
}

// notServed returns the error about an operation.
func notServed(op string, served ...string) error {
	what := "is not known"
	if slices.Contains([]string{doMDUpload, doQueryUpload, doDOIQueryUpload, doDOICitUpload, doTransferDOIsUpload}, op) {
		what = "is not served here"
	}
	return invalid("these are served: "+strings.Join(served, ", "), "the operation %.80q %s", op, what)
}

// crossref reads a form up to its file, and signs in. Who is known by the header or the URL is
// refused before the body is read if there is no room for what is served.
func (e *Exchange) crossref(served ...string) (*form, error) {
	f, err := e.openForm(crossrefFields, crossrefFiles)
	if err != nil {
		return nil, err
	}
	known, err := e.known(f.fields)
	if err == nil && known {
		err = e.full(f.fields["operation"], served...)
	}
	if err != nil {
		return nil, err
	}
	if err := f.untilFile(); err != nil {
		return nil, err
	}
	switch {
	case known:
		err = e.same(f.fields)
	case f.file != nil && (f.fields[fieldUser] == "" || f.fields[fieldPassword] == ""):
		err = &app.Error{Kind: app.Unauthenticated, What: "sign in", Err: fmt.Errorf("the file %s comes before the fields login_id and login_passwd", f.file.FormName()),
			Hint: "send them before the file, in the URL, or in the header"}
	default:
		err = e.signIn(f.fields)
	}
	if err == nil && f.file == nil {
		err = invalid(`send it as curl -F "fname=@FILE" does`, "the form has no file in the field fname or mdFile")
	}
	return f, err
}

// metadata returns the deposit of a form's file, if the caller may make it.
func (e *Exchange) metadata(f *form) (d app.Deposit, err error) {
	profile, err := e.metadataProfile(f.fields["profile"])
	if err != nil {
		return d, err
	}
	e.On = "profile/" + profile
	if d, err = e.allowed(operation.About{Profile: profile, Type: string(domain.TypeMetadata)}); err != nil {
		return d, err
	}
	d.Payload = fileName(f.file.FileName())
	return d, e.receiver().Check(d)
}

// metadataProfile returns the profile of metadata files: the one that is asked for, that of
// the installation, or the only one with which the caller may deposit them.
func (e *Exchange) metadataProfile(asked string) (string, error) {
	if name := cmp.Or(asked, e.App.Open.FormsProfile); name != "" {
		return name, nil
	}
	profiles, err := e.App.Open.Profiles()
	if err != nil {
		return "", err
	}
	var taking, mine []string
	for _, name := range profiles.Names() {
		if p, err := profiles.Get(name); err == nil && len(p.Metadata) > 0 {
			if taking = append(taking, name); e.caller.May(access.Deposit, p.Collection) {
				mine = append(mine, name)
			}
		}
	}
	switch {
	case len(mine) == 1:
		return mine[0], nil
	case len(mine) > 1:
		return "", invalid("name one in a field profile before the file; the setting forms_profile is for forms without it", "you may deposit metadata with several profiles: %s", strings.Join(mine, ", "))
	case len(taking) > 0:
		return "", &app.Error{Kind: app.Forbidden, What: "deposit", Err: errors.New("you have no right to deposit metadata in any collection"), Hint: "an administrator gives rights: `accession user grant`"}
	}
	return "", invalid("its profile needs the entry metadata", "no collection takes metadata files")
}

// deposit takes a metadata file into the drop folder.
func (e *Exchange) deposit(f *form) error {
	d, err := e.metadata(f)
	if err != nil {
		return err
	}
	if err := e.room(doMDUpload); err != nil {
		return err
	}
	ctx, r, head := e.R.Context(), e.receiver(), &head{}
	s, err := r.AcceptLate(ctx, d.Payload, io.TeeReader(f.body(), head), func(id string) (app.Deposit, string, error) {
		if err := f.rest(); err != nil {
			return d, "", err
		}
		return d, "", drops.KeepNames(ctx, e.App, d.Submitter, id, names(d.Payload, head)...)
	})
	if err != nil {
		return err
	}
	e.accepted("/v1/uploads/" + s.ID)
	return nil
}

// ask makes a query of a list of identifiers.
func (e *Exchange) ask(f *form) error {
	e.On = "installation"
	sees := e.caller.Filter()
	if err := e.room(doQueryUpload); err != nil {
		return err
	}
	ctx := e.R.Context()
	l, err := queries.Read("-", f.body())
	if err != nil {
		return err
	}
	defer l.Close()
	if err := f.rest(); err != nil {
		return err
	}
	if l.Wrong == l.Lines {
		return invalid("send one identifier on each line", "no line of the list is an identifier")
	}
	name := fileName(f.file.FileName())
	q, err := queries.Submit(ctx, e.App, l.Named(name), queries.Wishes{Submitter: e.caller.Name, Sees: &sees})
	if err == nil {
		err = drops.KeepNames(ctx, e.App, e.caller.Name, string(q.ID), names(name, &head{})...)
	}
	if err != nil {
		return err
	}
	e.On = q.ID.Aggregate().String()
	e.accepted("")
	return nil
}

// accepted answers that the deposit or query is there.
func (e *Exchange) accepted(location string) {
	if location != "" {
		e.W.Header().Set("Location", location)
	}
	e.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(e.W, received) // the client is gone
}

// atOnce takes a deposit that waits in no queue, and answers with its diagnostic; with 202 if
// it is not done in time.
func atOnce(e *Exchange) error {
	f, err := e.crossref(doMDUpload)
	if err != nil {
		return err
	}
	if op := cmp.Or(f.fields["operation"], doMDUpload); op != doMDUpload {
		return notServed(op, doMDUpload)
	}
	d, err := e.metadata(f)
	if err != nil {
		return err
	}
	if err := e.room(doMDUpload); err != nil {
		return err
	}
	ctx, r, head := e.R.Context(), e.receiver(), &head{}
	at, done, err := r.Spool(ctx, d.Payload, io.TeeReader(f.body(), head), "")
	if err != nil {
		return err
	}
	defer func() { _ = done() }() // what is left is removed later
	if err := f.rest(); err != nil {
		return err
	}
	name := d.Payload
	d.Payload = at
	var named error
	once := operation.Once{Prefer: e.R.Header.Get("Prefer")}
	is, err := synchronous.Submit(ctx, e.App, d, once.Wait(), func(s app.Submitted) {
		named = drops.KeepNames(ctx, e.App, d.Submitter, string(s.Batch), names(name, head)...)
	})
	if err := errors.Join(err, named); err != nil {
		return err
	}
	e.On = is.Batch.Aggregate().String()
	e.W.Header().Set("Location", "/v1/batches/"+string(is.Batch))
	if !is.Done || is.Report == nil {
		return e.diagnose(http.StatusAccepted, &diagnostic{Status: inProcess, Submission: string(is.Batch), Batch: head.batchID()})
	}
	return e.diagnose(http.StatusOK, diagnosticOf(*is.Report, head.batchID()))
}

// fileName returns the name of a file as its client sends it, which may be a path.
func fileName(sent string) string { return path.Base(strings.ReplaceAll(sent, `\`, "/")) }

// The names under which a client asks what became of its deposit.
const (
	byFile  = "file_name/"
	byBatch = "doc_batch_id/"
)

// names returns the names of a deposit.
func names(file string, h *head) []string {
	all := []string{byFile + file}
	if id := h.batchID(); id != "" {
		all = append(all, byBatch+id)
	}
	return all
}

// head is the beginning of a file.
type head struct{ bytes.Buffer }

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), max(0, 64<<10-h.Len()))])
	return len(p), nil
}

// batchID returns the doc_batch_id that a metadata file names in its head, "" = none.
func (h *head) batchID() string {
	dec := xml.NewDecoder(bytes.NewReader(h.Bytes()))
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "doc_batch_id" {
			var id string
			if dec.DecodeElement(&id, &e) != nil {
				return ""
			}
			if id = strings.TrimSpace(id); len(id) > 200 || !text.Valid(id) {
				return ""
			}
			return id
		}
	}
}
