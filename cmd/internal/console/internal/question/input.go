package question

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// asking returns the question with the fields and the body that the input of its operation has: what
// its path names is asked for too where the page is of no thing.
func (q Question) asking(ofThing bool) Question {
	op := operation.Named(q.Operation)
	in := op.Input
	if !ofThing {
		q.Names = namesIn(op.Path)
	}
	for _, f := range reflect.VisibleFields(in) {
		if name := f.Tag.Get("path"); slices.Contains(q.Names, name) {
			asked := fieldOf(name, f)
			asked.Needed = true
			q.Fields = append(q.Fields, asked)
		}
	}
	q.Unreasoned = true
	body, _ := in.FieldByName("Body")
	if body.Type.Kind() == reflect.Pointer {
		q.Unreasoned = false // it is a reason
		return q
	}
	var inBody []reflect.StructField
	for _, f := range reflect.VisibleFields(body.Type) {
		switch name := nameOf(f); {
		case f.Anonymous, name == "key": // that of the form is another one
		case name == "reason":
			q.Unreasoned = false
		default:
			inBody = append(inBody, f)
			q.Fields = append(q.Fields, fieldOf(name, f))
		}
	}
	q.Body = func(_ string, given url.Values, why string) (any, error) {
		return bodyOf(inBody, given, why, q.Unreasoned)
	}
	return q
}

// namesIn returns what a path names: "name" and "id" of /v1/{name}/x/{id}.
func namesIn(path string) (all []string) {
	for part := range strings.SplitSeq(path, "/") {
		if name, is := strings.CutPrefix(part, "{"); is {
			all = append(all, strings.TrimSuffix(name, "}"))
		}
	}
	return all
}

func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// fieldOf returns the field of a form for a field of an input.
func fieldOf(name string, f reflect.StructField) form.Field {
	words := strings.ReplaceAll(name, "_", " ")
	asked := form.Field{Name: name, Label: strings.ToUpper(words[:1]) + words[1:], Note: sentence(f.Tag.Get("doc")), Kind: kindOf(f)}
	asked.Most, _ = strconv.Atoi(f.Tag.Get("maxLength")) // none: as long as it is
	asked.Needed = f.Tag.Get("minLength") != ""
	if choices := f.Tag.Get("enum"); choices != "" {
		asked.Kind, asked.Choices = "choice", strings.Split(choices, ",")
	}
	return asked
}

// sentence returns a text of the API's description as a note beside a field, which is empty where
// the API says that something is absent.
func sentence(doc string) string {
	doc = strings.ReplaceAll(doc, "absent = ", "empty = ")
	return strings.TrimSuffix(doc, ".") + "."
}

// kindOf returns the kind of the field of a form: see [form.Field].
func kindOf(f reflect.StructField) string {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "moment"
	case f.Tag.Get("lines") != "":
		return "text"
	case t.Kind() == reflect.Slice:
		return "lines"
	case t.Kind() == reflect.Bool:
		return "check"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "number"
	case t.Kind() == reflect.Struct:
		return "json"
	}
	return ""
}

// bodyOf returns the body of a request with what was written in a form. What was left empty is left
// out, unless it is a pointer, which says that it may be set to nothing.
func bodyOf(fields []reflect.StructField, given url.Values, why string, unreasoned bool) (any, error) {
	body := map[string]any{}
	if !unreasoned {
		body["reason"] = why
	}
	for _, f := range fields {
		name, kind := nameOf(f), kindOf(f)
		value, err := valueOf(kind, name, given)
		if err != nil {
			return nil, err
		}
		empty := value == nil || reflect.ValueOf(value).IsZero()
		if !empty || value != nil && f.Type.Kind() == reflect.Pointer {
			body[name] = value
		}
	}
	return body, nil
}

// valueOf returns what was written in a field, nil = nothing that there is a value for.
func valueOf(kind, name string, given url.Values) (any, error) {
	text := form.Text(given, name)
	switch kind {
	case "lines":
		return append([]string{}, form.Lines(given, name)...), nil
	case "check":
		return text == "true", nil
	case "text":
		return strings.ReplaceAll(given.Get(name), "\r\n", "\n"), nil
	case "":
		return text, nil
	}
	if text == "" {
		return nil, nil
	}
	switch kind {
	case "number":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, wrong(name, "is no whole number", "write digits only")
		}
		return n, nil
	case "json":
		if !json.Valid([]byte(text)) {
			return nil, wrong(name, "is no JSON", "write it as the page of the thing has it, or leave it empty")
		}
		return json.RawMessage(text), nil
	default: // moment
		at := form.Moment(url.Values{"at": {text}}).Get("at")
		if _, err := time.Parse(time.RFC3339, at); err != nil {
			return nil, wrong(name, "is no time", "write it as 2027-01-31T10:00:00Z, or a day alone")
		}
		return at, nil
	}
}

// wrong returns what is wrong with a field.
func wrong(name, what, hint string) error {
	return problem.Of(app.Invalid, strings.ReplaceAll(name, "_", " ")+" "+what, hint)
}

// shownBy returns what is so now, as an operation shows it under the names of the fields.
func shownBy(name string, fields []form.Field) func(*ask.Visit, string) (url.Values, error) {
	return func(v *ask.Visit, id string) (url.Values, error) {
		shown, err := ask.Get[map[string]json.RawMessage](v, name, nil, Names(name, id)...)
		all := url.Values{}
		for _, f := range fields {
			if values := written(shown[f.Name]); len(values) > 0 {
				all[f.Name] = values
			}
		}
		return all, err
	}
}

// written returns a value of JSON as it is written in a field.
func written(value json.RawMessage) []string {
	var shown any
	if err := json.Unmarshal(value, &shown); err != nil {
		return nil // it is not there
	}
	switch v := shown.(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case []any:
		var lines []string
		for _, line := range v {
			if text, is := line.(string); is {
				lines = append(lines, text)
			}
		}
		return []string{strings.Join(lines, "\n")}
	case map[string]any:
		text, _ := json.MarshalIndent(v, "", "  ") // it came from JSON
		return []string{string(text)}
	}
	return []string{string(value)}
}
