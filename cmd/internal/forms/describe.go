package forms

import "net/http"

// Field is a field of a form that is looked at.
type Field struct {
	Name string
	Doc  string
	File bool
}

// Reply is an answer to a form that is not refused.
type Reply struct {
	Status     int
	MediaTypes []string
	Doc        string
}

// The media types of answers.
const (
	typeHTML = "text/html"
	typeXML  = "text/xml"
)

var (
	signs = []Field{
		{Name: "login_id", Doc: "Name of the user, unless the header says it; what follows a slash is not looked at"},
		{Name: "login_passwd", Doc: "Password or API key, unless the header has one"},
		{Name: "usr", Doc: "The same as login_id"},
		{Name: "pwd", Doc: "The same as login_passwd"},
	}
	depositFields = append([]Field{
		{Name: "operation", Doc: "doMDUpload (default): a metadata file; doQueryUpload or doDOIQueryUpload: a list of identifiers"},
		{Name: "profile", Doc: "Profile of the collection; no field of Crossref's. Default: that of the setting forms_profile, or the only one that takes metadata and with which the user may deposit"},
		{Name: "fname", Doc: "The file", File: true},
		{Name: "mdFile", Doc: "The file; the same as fname", File: true},
	}, signs...)
	statusAsked = append([]Field{
		{Name: "doc_batch_id", Doc: "The doc_batch_id in the metadata file that was sent"},
		{Name: "doi_batch_id", Doc: "The same as doc_batch_id"},
		{Name: "file_name", Doc: "Name of the file that was sent, in place of doc_batch_id"},
		{Name: "type", Doc: "result (default): what became of it; contents: the file"},
	}, signs...)
	merrittSent = []Field{
		{Name: "file", Doc: "The file", File: true},
		{Name: "filename", Doc: "Its name, if that is not the name in the field file"},
		{Name: "profile", Doc: "Profile of the collection; needed"},
		{Name: "type", Doc: "file, container, object-manifest, batch-manifest, container-batch-manifest, single-file-batch-manifest, or as clients of Merritt write them; found out from the file when it is absent"},
		{Name: "submitter", Doc: "Who deposits; operators of the collection may name another user. Default: you"},
		{Name: "primaryIdentifier", Doc: "Identifier of the one object"},
		{Name: "localIdentifier", Doc: "Your own names of the one object, separated by semicolons"},
		{Name: "creator", Doc: "Creator"},
		{Name: "title", Doc: "Title"},
		{Name: "date", Doc: "Date, as you write it"},
		{Name: "digestType", Doc: "Algorithm of the digest, adler-32 to sha-512"},
		{Name: "digestValue", Doc: "Digest of the file"},
		{Name: "responseForm", Doc: "xml, json or anvl; default: as Accept says, else xml"},
		{Name: "synchronousMode", Doc: "Must be false or absent"},
	}

	received200   = []Reply{{http.StatusOK, []string{typeHTML}, "The file is on disk in the drop folder, or the query is made: “Your batch submission was successfully received.”"}}
	diagnostic200 = []Reply{{http.StatusOK, []string{typeXML}, "The diagnostic of the deposit"}, {http.StatusAccepted, []string{typeXML}, "It is not done yet: a diagnostic with the status in_process, and Location says where to look"}}
	status200     = []Reply{{http.StatusOK, []string{typeXML, "application/octet-stream"}, "A diagnostic whose status is queued, in_process, completed or unknown_submission; with type=contents the file"}}
	merritt200    = []Reply{{http.StatusOK, []string{typeXML, "application/json", "text/x-anvl"}, "The file is on disk in the drop folder: a batchState with batchStatus QUEUED and the id of the upload as batchID; Location says where to look"}}
)

// Fields returns the fields that are looked at.
func (f *Form) Fields() []Field { return f.fields }

// Replies returns the answers to a form that is not refused.
func (f *Form) Replies() []Reply { return f.replies }
