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

// ordinaryWords is the heading behind which the items of lists, "- kind: word, word.", are
// words that need no meaning of their own.
const ordinaryWords = "## Ordinary words of names"

// wordedPackages are those whose exported names are made of the glossary's words: the
// core. A package in an internal folder is not for other programs.
var wordedPackages = []string{"domain/...", "eventstore/..."}

var (
	bold   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	ticked = regexp.MustCompile("`([^`]+)`")
)

// glossary is what the page says: which words stand in which line.
type glossary struct {
	words    map[string]bool // of the tables, with those of the names in their Go column
	ordinary map[string]int  // of the lists, with their line
	rows     map[string]int  // of the tables as they are written, with their line
}

// CheckGlossary compares docs/glossary.md with the code: the names in its tables exist,
// the exported names of the core have no words but those on the page, and each ordinary
// word there is one of a name.
func CheckGlossary(root fs.FS) ([]Finding, error) {
	all, err := sources(root)
	if err != nil {
		return nil, err
	}
	g, found, err := readGlossary(root, all)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, s := range all {
		if !s.production() || !matchesAny(wordedPackages, s.pkg) || slices.Contains(strings.Split(s.pkg, "/"), "internal") {
			continue
		}
		for _, d := range declared(s.syntax) {
			if !ast.IsExported(d.name) {
				continue
			}
			for _, word := range wordsOf(d.name) {
				stem := stemIn(word, func(w string) bool { return g.words[w] || g.ordinary[w] != 0 })
				used[stem] = true
				if stem == "" {
					found = append(found, Finding{s.file, s.fset.Position(d.pos).Line, fmt.Sprintf("the name %s has the word %q, which docs/glossary.md does not: use one of its words, or add this one with its meaning", d.name, word)})
				}
			}
		}
	}
	for word, line := range g.ordinary {
		refuse := func(format string) {
			found = append(found, Finding{glossaryPage, line, fmt.Sprintf(format, word)})
		}
		switch {
		case stemIn(word, func(w string) bool { return g.words[w] }) != "":
			refuse("%q has a meaning in a table: it is no ordinary word")
		case slices.ContainsFunc(badNames, func(b badName) bool { return b.word == word && slices.Equal(b.packages, everything) }):
			refuse("%q is replaced by another word everywhere: it is no ordinary word")
		case !used[word]:
			refuse("no exported name of the core has the word %q: take it out")
		}
	}
	return found, nil
}

// readGlossary reads the page, and finds names in its tables that do not exist and words
// that stand there twice.
func readGlossary(root fs.FS, all []source) (g glossary, found []Finding, err error) {
	text, err := fs.ReadFile(root, glossaryPage)
	if err != nil {
		return g, nil, err
	}
	exists, err := existing(root, all)
	if err != nil {
		return g, nil, err
	}
	g = glossary{words: map[string]bool{}, ordinary: map[string]int{}, rows: map[string]int{}}
	ordinary, listed := false, false
	for i, line := range strings.Split(string(text), "\n") {
		refuse := func(format string, args ...any) {
			found = append(found, Finding{glossaryPage, i + 1, fmt.Sprintf(format, args...)})
		}
		cells := strings.Split(line, "|")
		if len(cells) == 1 {
			ordinary = ordinary || line == ordinaryWords
			_, words, item := strings.Cut(line, ": ")
			switch item = item && strings.HasPrefix(line, "- "); {
			case !ordinary:
			case item:
				listed = true
			case listed && strings.HasPrefix(line, "  "):
				words = line
			default:
				listed = false
			}
			if ordinary && listed {
				for _, word := range simpleWords(words) {
					if g.ordinary[word] != 0 {
						refuse("%q is in line %d already", word, g.ordinary[word])
					}
					g.ordinary[word] = i + 1
				}
			}
			continue
		}
		for _, m := range bold.FindAllStringSubmatch(cells[1], -1) {
			for _, word := range simpleWords(m[1]) {
				g.words[word] = true
			}
			if g.rows[m[1]] != 0 {
				refuse("%q is in line %d already: one word for one thing", m[1], g.rows[m[1]])
			}
			g.rows[m[1]] = i + 1
		}
		if len(cells) != 7 { // a table without columns for code
			continue
		}
		for column, known := range exists {
			for _, m := range ticked.FindAllStringSubmatch(cells[column], -1) {
				if column == 3 {
					for _, word := range wordsOf(m[1][strings.Index(m[1], ".")+1:]) {
						g.words[word] = true
					}
				}
				if !known(m[1]) {
					refuse("there is no %s", m[1])
				}
			}
		}
	}
	return g, found, nil
}

// existing returns, for each column of the tables that names code, what reports whether
// there is such a name.
func existing(root fs.FS, all []source) (map[int]func(string) bool, error) {
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
	return map[int]func(string) bool{
		3: func(name string) bool { return exported[name] },
		4: func(name string) bool { return strings.Contains(sql, name) },
		5: func(name string) bool {
			return strings.Contains(string(commands), "accession "+name) || strings.Contains(string(commands), " "+name+" ")
		},
	}, nil
}

// simpleWords are the words of a text, in lower case.
func simpleWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// stemIn returns the known word of which a word is a form: itself, or a plural, a past
// tense or a form with -ing; "" if there is none.
func stemIn(word string, known func(string) bool) string {
	if known(word) {
		return word
	}
	for _, ending := range []string{"s", "es", "d", "ed", "ing"} {
		stem, ok := strings.CutSuffix(word, ending)
		if !ok || len(stem) < 2 {
			continue
		}
		last := len(stem) - 1
		forms := []string{stem, stem + "e"}
		switch stem[last] {
		case stem[last-1]:
			forms = append(forms, stem[:last])
		case 'i':
			forms = append(forms, stem[:last]+"y")
		}
		for _, form := range forms {
			if known(form) {
				return form
			}
		}
	}
	return ""
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
