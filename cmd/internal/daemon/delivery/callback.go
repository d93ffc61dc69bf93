package delivery

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"html/template"

	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/domain"
)

// Callback is what a callback says of a job whose object is stored and in the inventory.
type Callback struct {
	XMLName xml.Name       `json:"-" xml:"callback"`
	Batch   domain.BatchID `json:"batch_id" xml:"batch_id"`
	Job     domain.JobID   `json:"job_id" xml:"job_id"`
	State   string         `json:"state" xml:"state"` // completed
	Primary string         `json:"primary_id" xml:"primary_id"`
	LocalID []string       `json:"local_id" xml:"local_id"`
	Version int            `json:"version" xml:"version"` // of the object
	Files   int            `json:"files" xml:"files"`
	Bytes   int64          `json:"bytes" xml:"bytes"`
	Name    string         `json:"name" xml:"name"`
}

// Content returns the callback in the form that a deposit asks for: json, xml or html.
func (c Callback) Content(form string) (notify.Content, error) {
	switch form {
	case "xml":
		text, err := xml.Marshal(c)
		return notify.Content{Type: "application/xml; charset=utf-8", Body: append([]byte(xml.Header), text...)}, err
	case "html":
		var b bytes.Buffer
		err := callbackPage.Execute(&b, c)
		return notify.Content{Type: "text/html; charset=utf-8", Body: b.Bytes()}, err
	}
	text, err := json.Marshal(c)
	return notify.Content{Type: "application/json", Body: text}, err
}

// callbackPage has the names and values of the other forms.
var callbackPage = template.Must(template.New("callback").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{{.Name}}: {{.State}}</title></head>
<body>
<h1>{{.Name}}: {{.State}}</h1>
<dl>
<dt>batch_id</dt><dd>{{.Batch}}</dd>
<dt>job_id</dt><dd>{{.Job}}</dd>
<dt>state</dt><dd>{{.State}}</dd>
<dt>primary_id</dt><dd>{{.Primary}}</dd>
{{range .LocalID}}<dt>local_id</dt><dd>{{.}}</dd>
{{end}}<dt>version</dt><dd>{{.Version}}</dd>
<dt>files</dt><dd>{{.Files}}</dd>
<dt>bytes</dt><dd>{{.Bytes}}</dd>
<dt>name</dt><dd>{{.Name}}</dd>
</dl>
</body>
</html>
`))
