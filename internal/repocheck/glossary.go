package repocheck

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

const glossaryPage = "docs/glossary.md"

// otherWords is the heading behind which all words count.
const otherWords = "## Other words of names"

// wordedPackages are those whose exported types are made of the glossary's words.
var wordedPackages = []string{"domain", "eventstore"}

var (
	bold   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	ticked = regexp.MustCompile("`([^`]+)`")
)

// CheckGlossary compares docs/glossary.md with the code: the names in its tables exist,
// and the exported types of the core have no other words.
func CheckGlossary(root fs.FS) ([]Finding, error) {
	text, err := fs.ReadFile(root, glossaryPage)
	if err != nil {
		return nil, err
	}
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	sql, err := texts(root, "migrations", ".sql")
	if err != nil {
		return nil, err
	}
	commands, err := fs.ReadFile(root, "docs/cli.md")
	if err != nil {
		return nil, err
	}
	exported := map[string]bool{}
	for _, s := range all {
		if s.production() {
			for _, d := range declared(s.syntax) {
				exported[path.Base(s.pkg)+"."+d.name] = true
			}
		}
	}
	var found []Finding
	known, rows, others := map[string]bool{}, map[string]int{}, false
	for i, line := range strings.Split(string(text), "\n") {
		refuse := func(format string, args ...any) {
			found = append(found, Finding{glossaryPage, i + 1, fmt.Sprintf(format, args...)})
		}
		cells := strings.Split(line, "|")
		if len(cells) != 7 {
			if others = others || line == otherWords; others {
				learn(known, line)
			}
			continue
		}
		for _, m := range bold.FindAllStringSubmatch(cells[1], -1) {
			learn(known, m[1])
			if rows[m[1]] != 0 {
				refuse("%q is in line %d already: one word for one thing", m[1], rows[m[1]])
			}
			rows[m[1]] = i + 1
		}
		for column, exists := range map[int]func(string) bool{
			3: func(name string) bool { return exported[name] },
			4: func(name string) bool { return strings.Contains(sql, name) },
			5: func(name string) bool {
				return strings.Contains(string(commands), "accession "+name) || strings.Contains(string(commands), " "+name+" ")
			},
		} {
			for _, m := range ticked.FindAllStringSubmatch(cells[column], -1) {
				if column == 3 {
					learn(known, strings.Join(wordsOf(m[1][strings.Index(m[1], ".")+1:]), " "))
				}
				if !exists(m[1]) {
					refuse("there is no %s", m[1])
				}
			}
		}
	}
	for _, s := range all {
		if !s.production() || !slices.Contains(wordedPackages, s.pkg) {
			continue
		}
		for _, decl := range s.syntax.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range d.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok || !t.Name.IsExported() {
					continue
				}
				for _, word := range wordsOf(t.Name.Name) {
					if !inGlossary(known, word) {
						found = append(found, Finding{s.file, s.fset.Position(t.Pos()).Line, fmt.Sprintf("the type %s has the word %q, which docs/glossary.md does not: use one of its words, or add this one", t.Name.Name, word)})
					}
				}
			}
		}
	}
	return found, nil
}

func learn(known map[string]bool, text string) {
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
		known[word] = true
	}
}

// inGlossary knows plurals and past tenses too.
func inGlossary(known map[string]bool, word string) bool {
	for _, ending := range []string{"", "s", "d", "ed", "red", "ped"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && known[stem] {
			return true
		}
	}
	return false
}

// texts returns the files below a folder as one text.
func texts(root fs.FS, dir, ending string) (string, error) {
	var b strings.Builder
	err := files(root, func(name string, text []byte) error {
		if strings.HasPrefix(name, dir+"/") && strings.HasSuffix(name, ending) {
			b.Write(text)
		}
		return nil
	})
	return b.String(), err
}
