package migrations

import (
	"io"
	"io/fs"
	"regexp"
	"strings"
)

// Names are the schemas in which a projection stands. All SQL is written for [Live];
// Rewrite turns it into that of another generation, which a rebuild fills beside
// the live one.
type Names struct {
	Tables, Views string
}

// The generations of a projection.
var (
	Live = Names{"accession", "report"}
	Next = Names{"accession_next", "report_next"} // a rebuild fills it
	Old  = Names{"accession_old", "report_old"}   // a rebuild put it aside
)

// named finds the words accession and report where they may be a schema's name.
var named = regexp.MustCompile(`(\bschema (?:if not exists )?)?\b(accession|report)\b(\.[%a-z]|'::regnamespace)?`)

// Rewrite returns SQL with the schemas' names of this generation. A name of a schema
// stands after the word schema, before a dot and another name, or before '::regnamespace.
func (n Names) Rewrite(sql string) string {
	if n == Live {
		return sql
	}
	rename := map[string]string{Live.Tables: n.Tables, Live.Views: n.Views}
	return named.ReplaceAllStringFunc(sql, func(found string) string {
		m := named.FindStringSubmatch(found)
		if m[1] == "" && m[3] == "" {
			return found
		}
		return m[1] + rename[m[2]] + m[3]
	})
}

// ProjectionIn returns the migrations of the projection for other schemas, each file as
// one request.
func ProjectionIn(n Names) fs.FS { return renamed{Projection(), n} }

// oneRequest makes the statements of a migration, which are a thousand in all, one request
// to PostgreSQL. Its commit does not wait for the disk: a rebuild can make its tables again.
func oneRequest(sql string) string {
	return wholeFile.Replace(sql) + "\n-- +goose StatementEnd\n"
}

var wholeFile = strings.NewReplacer("-- +goose StatementBegin\n", "", "-- +goose StatementEnd\n", "",
	"-- +goose Up\n", "-- +goose Up\n-- +goose StatementBegin\nset local synchronous_commit = off;\n")

// renamed is a file system whose files are rewritten as they are opened.
type renamed struct {
	fs.FS
	names Names
}

func (r renamed) Open(name string) (fs.File, error) {
	f, err := r.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return f, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return rewritten{strings.NewReader(r.names.Rewrite(oneRequest(string(data)))), info}, nil
}

// rewritten is an open file of a renamed file system.
type rewritten struct {
	*strings.Reader
	info fs.FileInfo
}

func (f rewritten) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f rewritten) Close() error               { return nil }
