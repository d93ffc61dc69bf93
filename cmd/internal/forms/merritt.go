package forms

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/ratelimit"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/manifest"
)

// merrittFields are the fields of Merritt's forms that are served. A form with another one
// is refused: what it asks for would not be done.
var merrittFields = map[string]string{"type": "type", "profile": "profile", "submitter": "submitter", "filename": "filename",
	"primaryidentifier": "primaryIdentifier", "localidentifier": "localIdentifier", "digesttype": "digestType", "digestvalue": "digestValue",
	"creator": "creator", "title": "title", "date": "date", "responseform": "responseForm", "synchronousmode": "synchronousMode"}

// merrittTypes are the types of payloads, as Merritt's documentation and its clients write
// them, in lower case.
var merrittTypes = map[string]domain.SubmissionType{
	"file": domain.TypeFile, "container": domain.TypeContainer,
	"object-manifest": domain.TypeObjectManifest, "manifest": domain.TypeObjectManifest,
	"batch-manifest": domain.TypeBatchManifest, "batchmanifest": domain.TypeBatchManifest,
	"container-batch-manifest": domain.TypeContainerBatchManifest, "batchmanifestcontainer": domain.TypeContainerBatchManifest,
	"single-file-batch-manifest": domain.TypeFileBatchManifest, "batchmanifestfile": domain.TypeFileBatchManifest,
}

// The modes of a deposit by Merritt's forms.
func ingests(e *Exchange) error { return e.merritt("add") }

func updates(e *Exchange) error { return e.merritt("update") }

// merritt takes a deposit by one of Merritt's forms. Who sends it is known by the header
// alone, so that too many waiting deposits are refused before the body is read. Fields may
// come before the file or behind it, and are checked where they come.
func (e *Exchange) merritt(mode string) error {
	if err := e.signIn(nil); err != nil {
		return err
	}
	f, err := e.openStrictForm(merrittFields, "file")
	if err != nil {
		return err
	}
	if e.caller.FilterFor(access.Deposit).Empty() {
		return &app.Error{Kind: app.Forbidden, What: "deposit", Err: errors.New("you have no right to deposit in any collection"), Hint: "an administrator gives rights: `accession user grant`"}
	}
	m := &merritt{e: e, mode: mode}
	if err := m.room(e.caller.Name); err != nil && e.caller.FilterFor(access.Act).Empty() { // an operator may deposit for another user
		return err
	}
	if err := f.untilFile(); err != nil {
		return err
	}
	if f.file == nil {
		return invalid(`send it as curl -F "file=@FILE" does`, "the form has no file in the field file")
	}
	m.fields = f.fields
	name := fileName(cmp.Or(m.fields["filename"], f.file.FileName()))
	if err := drops.CheckName(name); err != nil {
		return err
	}
	if m.fields["profile"] != "" {
		if _, _, err := m.deposit(name, false); err != nil {
			return err
		}
	}
	s, err := e.receiver().AcceptLate(e.R.Context(), name, f.body(), func(string) (d app.Deposit, sum string, err error) {
		if err := f.rest(); err != nil {
			return d, "", err
		}
		return m.deposit(name, true)
	})
	if err != nil {
		return err
	}
	e.W.Header().Set("Location", "/v1/uploads/"+s.ID)
	form, err := m.responseForm()
	if err != nil {
		return err
	}
	return form.answer(e.W, &batchState{Namespace: batchNamespace, ID: s.ID, Status: "QUEUED", Agent: s.Submitter, At: s.Received.Format(time.RFC3339), Update: mode == "update"})
}

// merritt is a deposit by one of Merritt's forms.
type merritt struct {
	e      *Exchange
	mode   string
	fields map[string]string
	asked  []string // the users whose waiting deposits were counted
}

// room refuses one more deposit of a user of whom too many wait.
func (m *merritt) room(user string) error {
	if slices.Contains(m.asked, user) {
		return nil
	}
	r := m.e.receiver()
	if err := r.Room(m.e.R.Context(), user, ""); err != nil {
		return err
	}
	ratelimit.Set(m.e.W.Header(), r.Limit())
	m.asked = append(m.asked, user)
	return nil
}

// deposit returns the deposit that the fields describe, if the caller may make it, and the
// SHA-256 of its file, "" = it is not said. Unless all fields are there, it refuses only what
// no further field could mend.
func (m *merritt) deposit(name string, all bool) (d app.Deposit, sum string, err error) {
	f := m.fields
	if late := f["filename"]; late != "" && fileName(late) != name {
		return d, "", invalid("send it before the file, or leave it out", "the field filename comes after the file, which is named %.80q, and says %.80q", name, late)
	}
	if f["profile"] == "" {
		return d, "", invalid("name the collection's profile", "the form has no field profile")
	}
	m.e.On = "profile/" + f["profile"]
	about := operation.About{Profile: f["profile"], Mode: m.mode, Identifier: f["primaryIdentifier"], LocalIDs: localIDs(f["localIdentifier"]),
		Title: f["title"], Creator: f["creator"], Date: f["date"]}
	about.Submitter, _, _ = strings.Cut(f["submitter"], "/") // a name follows
	if f["type"] != "" {
		kind, known := merrittTypes[strings.ToLower(f["type"])]
		if !known {
			return d, "", invalid("write file, container, object-manifest, batch-manifest, container-batch-manifest or single-file-batch-manifest", "the field type is %.80q", f["type"])
		}
		about.Type = string(kind)
	}
	if all || f["digestType"] != "" && f["digestValue"] != "" {
		if about.Digest, sum, err = digestOf(f["digestType"], f["digestValue"]); err != nil {
			return d, "", err
		}
	}
	if mode := strings.ToLower(f["synchronousMode"]); mode != "" && mode != "false" {
		return d, "", invalid("leave it out, and ask at the Location of the answer what became of the deposit", "the field synchronousMode is %.80q, which is not served", f["synchronousMode"])
	}
	if _, err := m.responseForm(); err != nil {
		return d, "", err
	}
	if d, err = m.e.allowed(about); err != nil {
		return d, "", err
	}
	d.Digest, d.Payload = about.Digest, name
	if all {
		if err := m.named(domain.SubmissionType(about.Type)); err != nil {
			return d, "", err
		}
		if err := m.e.receiver().Check(d); err != nil {
			return d, "", err
		}
	}
	return d, sum, m.room(d.Submitter)
}

// named refuses a deposit that does not name its object where it must, or does where it
// must not. A type that is not given may turn out to be any of them.
func (m *merritt) named(kind domain.SubmissionType) error {
	field := ""
	for _, name := range []string{"primaryIdentifier", "localIdentifier"} {
		if m.fields[name] != "" {
			field = name
		}
	}
	what, hint := manifest.CheckNamed(string(kind), kind.Batch(), field != "", m.mode == "update")
	switch {
	case what == "":
		return nil
	case field != "":
		return invalid(hint, "the fields type and %s contradict each other: %s", field, what)
	}
	return invalid("send the field primaryIdentifier or localIdentifier, or the type of a batch manifest whose rows have them", "%s", what)
}

// localIDs returns the depositor's own names of an object, which semicolons separate.
func localIDs(field string) (ids []string) {
	for id := range strings.SplitSeq(field, ";") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// digestOf returns the digest of two fields, and again if it is a SHA-256.
func digestOf(kind, value string) (digest, sum string, err error) {
	if kind == "" && value == "" {
		return "", "", nil
	}
	if kind == "" || value == "" {
		return "", "", invalid("send both, or neither", "of the fields digestType and digestValue only one is there")
	}
	algorithm, value, err := manifest.ParseDigest(kind + ":" + value)
	if err != nil {
		return "", "", invalid("correct digestType and digestValue, or leave both out", "the fields digestType and digestValue: %w", err)
	}
	if algorithm == string(manifest.SHA256) {
		sum = value
	}
	return algorithm + ":" + value, sum, nil
}

// batchNamespace is what the prefix of the answer's names stands for at Merritt.
const batchNamespace = "http://uc3.cdlib.org/ontology/mrt/ingest/batch"

// batchState is the answer to a deposit that was accepted, as Merritt's clients read it.
type batchState struct {
	XMLName   xml.Name `xml:"bat:batchState" json:"-"`
	Namespace string   `xml:"xmlns:bat,attr" json:"xmlns:bat"`
	ID        string   `xml:"bat:batchID" json:"bat:batchID"` // of the upload
	Jobs      string   `xml:"bat:jobStates" json:"bat:jobStates"`
	Status    string   `xml:"bat:batchStatus" json:"bat:batchStatus"`
	Agent     string   `xml:"bat:userAgent" json:"bat:userAgent"`
	At        string   `xml:"bat:submissionDate" json:"bat:submissionDate"`
	Update    bool     `xml:"bat:updateFlag" json:"bat:updateFlag"`
}

// responseForm is how an answer is written.
type responseForm struct {
	mediaType string
	encode    func(*batchState) ([]byte, error)
}

var responseForms = map[string]responseForm{
	"xml": {"text/xml; charset=utf-8", func(b *batchState) ([]byte, error) {
		data, err := xml.MarshalIndent(b, "", "  ")
		return append([]byte(xml.Header), data...), err
	}},
	"json": {"application/json", func(b *batchState) ([]byte, error) {
		return json.MarshalIndent(map[string]any{"bat:batchState": b}, "", "  ")
	}},
	"anvl": {"text/x-anvl; charset=utf-8", func(b *batchState) ([]byte, error) {
		update := "false"
		if b.Update {
			update = "true"
		}
		return []byte("batchID: " + b.ID + "\nbatchStatus: " + b.Status + "\nuserAgent: " + b.Agent + "\nsubmissionDate: " + b.At + "\nupdateFlag: " + update), nil
	}},
}

// responseForm returns how the answer is to be written: as the field says, else as the
// header Accept does, else as XML.
func (m *merritt) responseForm() (responseForm, error) {
	name := strings.ToLower(m.fields["responseForm"])
	if name == "" && strings.HasPrefix(m.e.R.Header.Get("Accept"), "application/json") {
		name = "json"
	}
	form, known := responseForms[cmp.Or(name, "xml")]
	if !known {
		return form, invalid("write xml, json or anvl", "the field responseForm is %.80q", name)
	}
	return form, nil
}

// answer writes the answer.
func (r responseForm) answer(w http.ResponseWriter, b *batchState) error {
	data, err := r.encode(b)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", r.mediaType)
	_, _ = io.WriteString(w, string(data)+"\n") // the client is gone
	return nil
}
