package manifest

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	blanks = " \t" // what may surround a cell
	bom    = "\ufeff"
)

// Limits bound what [Parse] accepts. The zero value has all defaults.
type Limits struct {
	MaxBytes     int // of the file; 0 = 64 MiB
	MaxRows      int // 0 = 100,000
	MaxLineBytes int // of one line, line end included; 0 = 64 KiB

	// StoreURLs lets rows name uploads in the object store (store:///KEY). Only
	// for manifests that the service wrote itself: a depositor could read other
	// people's uploads with them.
	StoreURLs bool
}

func (l Limits) withDefaults() Limits {
	l.MaxBytes, l.MaxRows, l.MaxLineBytes = cmp.Or(l.MaxBytes, 64<<20), cmp.Or(l.MaxRows, 100_000), cmp.Or(l.MaxLineBytes, 64<<10)
	return l
}

// Parse reads a manifest. Structural errors are returned as [Errors], all that
// were found (at most 100), and then there is no manifest; faults of rows are
// in [Row.Fault].
func Parse(data []byte, limits Limits) (*Manifest, error) {
	p := parser{limits: limits.withDefaults(), m: &Manifest{}}
	p.read(data)
	if p.errs != nil {
		return nil, p.errs
	}
	markNameFaults(p.m)
	return p.m, nil
}

// parser is the state of one reading. Each line is one step.
type parser struct {
	limits   Limits
	m        *Manifest
	errs     Errors
	line     int // the current line
	rows     int // rows met, read or not
	eof      bool
	seen     map[string]string // directives that may occur once, with their cells
	bareCR   int               // the first line that ended in CR alone, 0 = none
	unread   bool              // a line could not be read: what seems to be missing may be there
	finished bool              // nothing after this line would be news
}

func (p *parser) fail(code, format string, args ...any) {
	p.errs = append(p.errs, fault(p.line, code, format, args...))
	p.finished = p.finished || len(p.errs) >= maxErrors
}

func (p *parser) warn(e *Error) {
	if len(p.m.Warnings) >= maxErrors {
		p.m.MoreWarnings++
		return
	}
	p.m.Warnings = append(p.m.Warnings, e)
}

func (p *parser) read(data []byte) {
	if most := p.limits.MaxBytes; len(data) > most {
		p.line = 1 + bytes.Count(data[:most], []byte("\n"))
		p.fail(TooLarge, "here the manifest passes %d bytes and it has %d; divide it into several", most, len(data))
		return
	}
	rest := strings.TrimPrefix(string(data), bom)
	p.seen = make(map[string]string)
	for rest != "" && !p.finished {
		var line string
		line, rest = p.cut(rest)
		p.line++
		p.step(line)
	}
	if p.bareCR > 0 {
		p.warn(fault(p.bareCR, LineEnds, "lines from this one on end in CR alone; they are read, but end lines with LF or CRLF"))
	}
	if !p.finished {
		p.end()
	}
}

// cut returns the first line of a text, which ends in LF, CRLF or CR, and the rest. A
// CRLF leaves its CR.
func (p *parser) cut(text string) (line, rest string) {
	i := strings.IndexAny(text, "\r\n")
	switch {
	case i < 0:
		return text, ""
	case text[i] == '\n':
		return text[:i], text[i+1:]
	case strings.HasPrefix(text[i+1:], "\n"):
		return text[:i+1], text[i+2:]
	case p.bareCR == 0:
		p.bareCR = p.line + 1
	}
	return text[:i], text[i+1:]
}

func (p *parser) step(line string) {
	if len(line) >= p.limits.MaxLineBytes {
		p.unread = true
		p.fail(LineTooLong, "the line has %d bytes; use fewer than %d", len(line), p.limits.MaxLineBytes)
		return
	}
	if !utf8.ValidString(line) {
		p.unread = true
		p.fail(NotUTF8, "the line is not UTF-8; save the manifest as UTF-8")
		return
	}
	line = strings.Trim(strings.TrimSuffix(line, "\r"), blanks)
	directive := strings.HasPrefix(line, "#%")
	switch {
	case line == "", !directive && line[0] == '#':
	case p.eof:
		p.fail(AfterEOF, "there is content after #%%eof; move it above, or end the file there")
		p.finished = true
	case directive:
		p.header(line[2:])
	default:
		p.row(line)
	}
}

// header reads a #% line, given without these two characters.
func (p *parser) header(line string) {
	name, args, _ := strings.Cut(line, "|")
	name = strings.Trim(name, blanks)
	cells := splitCells(args)
	kind := strings.ToLower(name)
	version := ""
	if v, ok := strings.CutPrefix(kind, "checkm_"); ok {
		kind, version = "checkm", v
	}
	if hasControl(line) {
		p.fail(BadHeader, "the line holds a control character; remove it, and end lines with LF or CRLF")
		return
	}
	if !slices.Contains(directives, kind) {
		p.warn(fault(p.line, LineIgnored, "#%%%s is not known, and ignored; a comment starts with # alone", excerptBare(name)))
		return
	}
	value := version + "|" + strings.Join(cells, "|")
	before, repeated := p.seen[kind]
	switch {
	case kind == "prefix":
	case repeated && before == value:
		p.warn(fault(p.line, LineRepeated, "#%%%s is there twice with the same value; keep one", excerptBare(name)))
		return
	case repeated:
		p.fail(BadHeader, "#%%%s is there twice with different values; keep one", excerptBare(name))
		return
	}
	p.seen[kind] = value
	if kind != "eof" && p.rows > 0 {
		p.fail(BadHeader, "#%%%s stands after a row; move it above the first row", excerptBare(name))
		return
	}
	switch kind {
	case "checkm":
		if version == "" || strings.Trim(version, "0123456789abcdefghijklmnopqrstuvwxyz.-") != "" || len(cells) > 0 {
			p.fail(BadHeader, "the version line is not readable; write #%%checkm_0.7")
			return
		}
		p.m.Version = version
	case "profile":
		p.profile(cells)
	case "prefix":
		if len(cells) < 1 || len(cells) > 2 || cells[0] == "" {
			p.fail(BadHeader, "the prefix line is not readable; write #%%prefix | NAME: | URL")
			return
		}
		p.m.Prefixes = append(p.m.Prefixes, Prefix{Name: cells[0], URI: strings.Join(cells[1:], "")})
	case "fields":
		fields, err := parseFields(cells)
		if err != nil {
			p.fail(BadFields, "%v", err)
			return
		}
		p.m.Fields = fields
		for _, f := range fields {
			if !f.Known() {
				p.warn(fault(p.line, ColumnIgnored, "the column %s is not known, and its cells are ignored; known are %s", excerpt(string(f)), knownFields()))
			}
		}
	case "eof":
		if len(cells) > 0 {
			p.fail(BadHeader, "#%%eof stands alone on its line; remove what follows it")
		}
		p.eof = true
	}
}

// directives are the #% lines that are known.
var directives = []string{"checkm", "profile", "prefix", "fields", "eof"}

func (p *parser) profile(cells []string) {
	if len(cells) != 1 {
		p.fail(UnknownProfile, "the profile line is not readable; write #%%profile | %s", MrtIngest.URL())
		return
	}
	profile, err := ProfileOf(cells[0])
	if err != nil {
		p.fail(UnknownProfile, "%v", err)
		return
	}
	p.m.Profile = profile
}

func (p *parser) row(line string) {
	p.rows++
	switch {
	case p.rows > p.limits.MaxRows:
		p.fail(TooManyRows, "this is row %d and a manifest may have %d; divide it into several", p.rows, p.limits.MaxRows)
		p.finished = true
		return
	case p.rows == 1:
		p.needProfile()
		if p.m.Fields == nil {
			p.m.Fields = p.m.Profile.Fields()
		}
	}
	if p.errs == nil { // else the columns may be unknown, and the rows are not returned
		p.m.Rows = append(p.m.Rows, parseRow(line, p.line, p.m.Fields, p.limits.StoreURLs, p.warn))
	}
}

func (p *parser) needProfile() {
	if _, named := p.seen["profile"]; !named && !p.unread {
		p.fail(NoProfile, "there is no #%%profile line above; write #%%profile | %s for the files of one object", MrtIngest.URL())
	}
}

// end finds what is missing, once all lines were read.
func (p *parser) end() {
	p.line = max(p.line, 1)
	if p.rows == 0 && !p.unread {
		p.needProfile()
		p.fail(NoRows, "the manifest lists nothing; write one row for each file or object")
	}
	if !p.eof && !p.unread {
		p.fail(NoEOF, "the manifest ends without #%%eof, so it may have been cut off; send it whole, with #%%eof as its last line")
	}
}

// splitCells divides the arguments of a directive; trailing empty ones do not count.
func splitCells(args string) []string {
	args = strings.TrimRight(args, blanks+"|")
	if args == "" {
		return nil
	}
	cells := strings.Split(args, "|")
	for i, c := range cells {
		cells[i] = strings.Trim(c, blanks)
	}
	return cells
}

// excerptBare is excerpt without the quotes around it.
func excerptBare(s string) string {
	q := excerpt(s)
	return q[1 : len(q)-1]
}
