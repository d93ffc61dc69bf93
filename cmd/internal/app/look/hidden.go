package look

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app/event"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// url finds URLs in a text.
var url = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s|<>"']+`)

// text returns a text whose URLs show no secret.
func text(s string) string {
	return url.ReplaceAllStringFunc(s, func(u string) string {
		if record.Redacted(u) {
			return u
		}
		return fetch.Redact(u)
	})
}

// data returns the data of a node whose texts show no secret.
func data(s string) string {
	var v any
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if dec.Decode(&v) != nil || dec.More() {
		return text(strings.ToValidUTF8(s, "\uFFFD"))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(within(v)) != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}

// within returns a JSON value with the texts of text.
func within(v any) any {
	switch v := v.(type) {
	case string:
		return text(v)
	case []any:
		for i := range v {
			v[i] = within(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = within(v[name])
		}
	}
	return v
}

// hidden returns a text without the path of the working directory: what is below it is
// named from there.
func hidden(c domain.Configuration, s string) string {
	if parent := strings.TrimSuffix(c.WorkingDir, event.WorkingDir(c.BatchID, c.WorkingDir)); parent != "" && parent != c.WorkingDir {
		return strings.ReplaceAll(s, parent, "")
	}
	return s
}
