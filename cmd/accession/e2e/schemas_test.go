package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// published are the schemas of docs, each compiled when it is first asked for. Every command
// line with -o json and every request of these tests is compared with them.
type published struct {
	mu       sync.Mutex
	compiler *validator.Compiler
	compiled map[string]*validator.Schema
	routes   *http.ServeMux
	anchors  map[string]bool
}

var schemas = sync.OnceValues(func() (*published, error) {
	p := &published{compiler: validator.NewCompiler(), compiled: map[string]*validator.Schema{}, routes: http.NewServeMux(), anchors: map[string]bool{}}
	p.compiler.AssertFormat()
	for _, page := range []string{"output.schema.json", "openapi.yaml"} {
		text, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			return nil, err
		}
		var doc any
		if err := yaml.Unmarshal(text, &doc); err != nil {
			return nil, fmt.Errorf("%s: %w", page, err)
		}
		if text, err = json.Marshal(doc); err != nil {
			return nil, err
		}
		if doc, err = validator.UnmarshalJSON(strings.NewReader(string(text))); err != nil {
			return nil, err
		}
		at, all := "urn:accession:api", doc.(map[string]any)
		if page == "output.schema.json" {
			at = "urn:accession:output"
			refuseOthers(all)
			for name := range all["$defs"].(map[string]any) {
				p.anchors[name] = true
			}
		} else {
			for path, methods := range all["paths"].(map[string]any) {
				for method := range methods.(map[string]any) {
					p.routes.Handle(strings.ToUpper(method)+" "+path, http.NotFoundHandler())
				}
			}
		}
		if err := p.compiler.AddResource(at, doc); err != nil {
			return nil, err
		}
	}
	return p, nil
})

// refuseOthers makes a schema refuse fields that it does not name, so that the page names all.
func refuseOthers(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, says := v["additionalProperties"]; v["properties"] != nil && !says {
			v["additionalProperties"] = false
		}
		for _, each := range v {
			refuseOthers(each)
		}
	case []any:
		for _, each := range v {
			refuseOthers(each)
		}
	}
}

// compare returns an error if a value is not what a schema says.
func (p *published) compare(at string, v any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.compiled[at]
	if s == nil {
		var err error
		if s, err = p.compiler.Compile(at); err != nil {
			return err
		}
		p.compiled[at] = s
	}
	return s.Validate(v)
}

// written compares what a command line has written, if it asked for JSON, with
// docs/output.schema.json, and returns how many documents there were.
func written(t testing.TB, args []string, out, errs string) (n int) {
	t.Helper()
	p, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(args, func(s string) bool { return s == "-o" || s == "--output" })
	if i < 0 || i+1 == len(args) || args[i+1] != "json" || slices.ContainsFunc(args, func(s string) bool { return s == "--help" || s == "-h" || strings.HasPrefix(s, "--format") }) {
		return 0
	}
	for line := range strings.Lines(errs) {
		if strings.HasPrefix(line, `{"title":`) {
			v, err := validator.UnmarshalJSON(strings.NewReader(line))
			if err == nil {
				err = p.compare("urn:accession:output#error", v)
			}
			if err != nil {
				t.Errorf("accession %s: %s: %v", strings.Join(args, " "), line, err)
			}
		}
	}
	command := ""
	for i, word := range args {
		if i+1 < len(args) && p.anchors[word+" "+args[i+1]] {
			command = word + " " + args[i+1]
		} else if p.anchors[word] {
			command = word
		}
		if command != "" {
			break
		}
	}
	for dec := json.NewDecoder(strings.NewReader(out)); command != ""; n++ {
		dec.UseNumber()
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = p.compare("urn:accession:output#"+strings.ReplaceAll(command, " ", "-"), v)
		}
		if err != nil {
			t.Errorf("accession %s: %v: %.2000s", strings.Join(args, " "), err, out)
			break
		}
	}
	return n
}

// described compares an answer of the API with docs/openapi.yaml.
func described(t testing.TB, r *http.Request, res *http.Response, body []byte) {
	t.Helper()
	p, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	_, pattern := p.routes.Handler(r)
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	method, path, ok := strings.Cut(pattern, " ")
	if !ok || r.Method == http.MethodHead || !strings.HasSuffix(kind, "json") || res.Header.Get("Content-Disposition") != "" {
		return
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	at := fmt.Sprintf("urn:accession:api#/paths/%s/%s/responses/%d/content/%s/schema", escape.Replace(path), strings.ToLower(method), res.StatusCode, escape.Replace(kind))
	v, err := validator.UnmarshalJSON(strings.NewReader(string(body)))
	if err == nil {
		err = p.compare(at, v)
	}
	if err != nil {
		t.Errorf("%s %s: %d is not what docs/openapi.yaml says: %v: %.2000s", r.Method, r.URL.Path, res.StatusCode, err, body)
	}
}
