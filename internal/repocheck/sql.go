package repocheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ByHand are functions, constants or variables of a package that hold SQL outside of
// queries/.
type ByHand struct {
	Package string
	Names   []string // as godoc writes them: F, (*T).M, a constant
	Why     string
}

// Reasons for SQL outside of queries/, the only ones: sqlc writes the calls of all
// statements whose schema, tables and columns are fixed.
const (
	anySchema = "the schema is a parameter: the tables in use, or those of a rebuild"
	anyTable  = "the table and its columns are parameters"
	session   = "a lock, listener, snapshot or setting of the session or transaction"
)

// SQLByHand is the whole table.
var SQLByHand = []ByHand{
	{"cmd/internal/stack", []string{"(*postgres).healthy"}, session},
	{"cmd/internal/wire", []string{"withLease"}, session},
	{"migrations", []string{"(sessionLock).SessionLock", "(sessionLock).SessionUnlock", "locked"}, session},
	{"migrations", []string{"Up", "Compare"}, anySchema},
	{"projections/internal/fold", []string{"copyRows", "updateRows"}, anyTable},
	{"projections/internal/tables", []string{"(renaming).Exec", "(renaming).Query", "(renaming).QueryRow"}, anySchema},
	{"projections/query", []string{"OpenSnapshot", "(*Snapshot).Unchanged", "(*Waiter).hear"}, session},
	{"projections/query", []string{"estimate"}, anyTable},
	{"projections/rebuild", []string{"withLock", "noParallelWorkers", "plainText"}, session},
	{"projections/rebuild", []string{"sqlForeignObjects", "identities", "generation", "drop", "exists", "(*rebuild).trySwap", "(*rebuild).unindex", "(*rebuild).index", "saveIndexes"}, anySchema},
	{"projections/rebuild", []string{"diffTable", "shapeOf", "fingerprint", "columnsOfTable", "(*rebuild).analyze", "(*rebuild).buildIndex"}, anyTable},
}

// sends are methods of pgx and database/sql that take SQL.
var sends = []string{"Exec", "Query", "QueryRow", "ExecContext", "QueryContext", "QueryRowContext", "Queue", "CopyFrom"}

// statement matches what a string literal with a SQL statement begins with.
var statement = regexp.MustCompile(`(?is)^\s*(select\s.*(\sfrom\s|\()|insert\s+into\s|update\s+\S+(\s+\w+)?\s+set\s|delete\s+from\s|with\s+\w+\s+as\s*\(|` +
	`(create|alter|drop)\s+(table|schema|index|view|database|role|unique|materialized|sequence|type|function)\s|set\s+(local|transaction|session)\s|(listen|notify|lock table|analyze|truncate)\s+\w+\.?\w*\s*$)`)

// fixedTable matches a table or view of a schema that sqlc knows. goose makes
// schema_version.
var fixedTable = regexp.MustCompile(`\b(?:accession|report|record)\.([a-z_]+)`)

const gooseTable = "schema_version"

// CheckSQL refuses SQL outside of queries/, generated code, migrations and the places in
// SQLByHand, and in these statements on fixed tables.
func CheckSQL(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	used := map[string]bool{}
	talks := map[string]bool{} // packages that talk to PostgreSQL
	for _, s := range all {
		for _, i := range s.imports {
			talks[s.pkg] = talks[s.pkg] || !s.test && (i.path == "database/sql" || strings.HasPrefix(i.path, "github.com/jackc/pgx/"))
		}
	}
	for _, s := range all {
		if !s.production() || ast.IsGenerated(s.syntax) {
			continue
		}
		for _, decl := range s.syntax.Decls {
			for name, part := range parts(decl) {
				pos := sqlIn(part, talks[s.pkg])
				if !pos.IsValid() {
					continue
				}
				if slices.ContainsFunc(SQLByHand, func(b ByHand) bool { return b.Package == s.pkg && slices.Contains(b.Names, name) }) {
					used[s.pkg+" "+name] = true
					if pos, table := fixedTableIn(part); pos.IsValid() {
						found = append(found, Finding{s.file, s.fset.Position(pos).Line, fmt.Sprintf(
							"%s holds a statement on the fixed table %s: write it in queries/ and let sqlc generate the call", name, table)})
					}
					continue
				}
				found = append(found, Finding{s.file, s.fset.Position(pos).Line, fmt.Sprintf(
					"%s holds SQL: write it in queries/ and let sqlc generate the call, or give the reason in repocheck/sql.go", name)})
			}
		}
	}
	for _, b := range SQLByHand {
		for _, name := range b.Names {
			if whole(root) && !used[b.Package+" "+name] {
				found = append(found, Finding{"internal/repocheck/sql.go", 0, b.Package + " " + name + " holds no SQL or does not exist: remove it"})
			}
		}
	}
	return found, nil
}

// parts returns the functions, constants and variables of a declaration by name.
func parts(decl ast.Decl) map[string]ast.Node {
	named := map[string]ast.Node{}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Body != nil {
			named[FuncName(d)] = d.Body
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				named[v.Names[0].Name] = v
			}
		}
	}
	return named
}

// sqlIn returns where a node holds SQL first: a literal or, in a package that talks to
// PostgreSQL, a call that sends a statement.
func sqlIn(n ast.Node, talks bool) (at token.Pos) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && talks && slices.Contains(sends, f.Sel.Name) && len(n.Args) > 1 && isContext(n.Args[0]) {
				at = n.Pos()
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && statement.MatchString(text) {
				at = n.Pos()
			}
		}
		return !at.IsValid()
	})
	return at
}

// fixedTableIn returns where a node names a table that sqlc knows, and which.
func fixedTableIn(n ast.Node) (at token.Pos, table string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && !at.IsValid() {
			for _, m := range fixedTable.FindAllStringSubmatch(lit.Value, -1) {
				if m[1] != gooseTable {
					at, table = lit.Pos(), m[0]
				}
			}
		}
		return !at.IsValid()
	})
	return at, table
}

// isContext reports whether an argument is a context, by its name.
func isContext(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "ctx" || slices.Contains([]string{"context.Background()", "context.TODO()"}, written(e))
}

// FuncName returns a function's name as godoc writes it: F, (T).M or (*T).M.
func FuncName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	star, typ := "", d.Recv.List[0].Type
	if s, ok := typ.(*ast.StarExpr); ok {
		star, typ = "*", s.X
	}
	return "(" + star + written(typ) + ")." + d.Name.Name
}
