package metadata

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
)

// Bounds of every file.
const (
	MaxDepth      = 64        // elements within one another
	MaxElements   = 5_000_000 // elements of a file
	MaxAttributes = 256       // attributes of an element, those for namespaces among them
	MaxText       = 1 << 20   // bytes of a tag, a comment, or a text between two of them
)

// Limits bound a file; 0 = 64 MiB, and 50,000 records.
type Limits struct {
	MaxBytes   int64
	MaxRecords int
}

// Check reads a file and calls each for every record, in their order. An error of the
// file is an [*Error]; one of r or each is returned as it is. What each was called with
// does not count when there is an error.
func Check(r io.Reader, formats []Format, l Limits, each func(Record) error) (Counts, error) {
	if l.MaxBytes == 0 {
		l.MaxBytes = 64 << 20
	}
	if l.MaxRecords == 0 {
		l.MaxRecords = 50_000
	}
	c := &checker{src: newSource(r, l.MaxBytes), formats: formats, limits: l, each: each, seen: make(map[key]int)}
	c.dec = xml.NewDecoder(c.src)
	for {
		if err := c.next(); errors.Is(err, io.EOF) {
			return c.counts, c.end()
		} else if err != nil {
			return c.counts, err
		}
	}
}

// Root returns the name of the root element of a file, of which head is the beginning.
func Root(head []byte) (Name, bool) {
	c := &checker{src: newSource(strings.NewReader(string(head)), int64(len(head))), formats: nil, rootOnly: true}
	c.dec = xml.NewDecoder(c.src)
	for c.format == nil {
		if err := c.next(); err != nil {
			return Name{}, false
		}
	}
	return c.format.Root, true
}

// checker is a file being read.
type checker struct {
	src     *source
	dec     *xml.Decoder
	formats []Format
	limits  Limits
	each    func(Record) error
	counts  Counts

	rootOnly bool    // only the name of the root is asked for
	format   *Format // that of the root, nil = before it
	stack    []element
	elements int
	records  follower
	record   *reading // nil = outside of one
	seen     map[key]int
}

// element is an open element: its name as it is written, and what it declares.
type element struct {
	written xml.Name
	spaces  []declared
}

type declared struct{ prefix, space string }

// next reads the next token. io.EOF is the end of the file.
func (c *checker) next() error {
	c.src.mark = c.dec.InputOffset()
	line, _ := c.dec.InputPos()
	token, err := c.dec.RawToken()
	if err != nil {
		return c.explain(err)
	}
	switch t := token.(type) {
	case xml.StartElement:
		return c.open(line, t)
	case xml.EndElement:
		return c.close(line, t)
	case xml.CharData:
		if c.record != nil {
			c.record.text(t)
		}
		if rest := bytes.TrimLeft(t, " \t\r\n"); len(c.stack) == 0 && len(rest) > 0 {
			return fault(line+bytes.Count(t[:len(t)-len(rest)], []byte("\n")), Malformed, "there is text outside of the root element: remove it")
		}
	case xml.Directive:
		return fault(line, Doctype, "it has a document type declaration: remove it; entities and what a declaration names are not read")
	case xml.ProcInst:
		if t.Target != "xml" {
			return fault(line, Outside, "it has the processing instruction %s, which is for other programs or names other files: remove it", excerpt(t.Target))
		}
		if c.src.mark != 0 {
			return fault(line, Malformed, "<?xml stands behind the beginning of the file: remove what is before it")
		}
	}
	return nil
}

// explain returns an error of the decoder in the words of this package.
func (c *checker) explain(err error) error {
	var syntax *xml.SyntaxError
	line, _ := c.dec.InputPos()
	switch {
	case errors.Is(err, io.EOF) && len(c.stack) > 0:
		return fault(line, Malformed, "the file ends within <%s>: it may have been cut off", short(c.stack[len(c.stack)-1].written.Local, 100))
	case !errors.As(err, &syntax):
		if strings.HasPrefix(err.Error(), "xml: encoding ") {
			return fault(line, NotUTF8, "its encoding is not UTF-8: write it in UTF-8, and say so in its first line or not at all")
		}
		if strings.HasPrefix(err.Error(), "xml: unsupported version ") {
			return fault(line, Malformed, "it is not XML 1.0: write version=\"1.0\" in its first line")
		}
		return err
	case strings.Contains(syntax.Msg, "invalid UTF-8"):
		return fault(syntax.Line, NotUTF8, "it is not UTF-8: write it in UTF-8")
	case strings.HasPrefix(syntax.Msg, "invalid character entity"):
		return fault(syntax.Line, Entity, "%s: write the character itself, or its number such as &#233;; only &lt; &gt; &amp; &apos; and &quot; are known",
			excerpt(syntax.Msg))
	}
	return fault(syntax.Line, Malformed, "it is not well-formed XML: %s; a tool such as xmllint shows where", excerpt(syntax.Msg))
}

func (c *checker) open(line int, t xml.StartElement) error {
	if err := c.bounded(line, t); err != nil {
		return err
	}
	e := element{written: t.Name}
	for _, a := range t.Attr {
		if a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns" {
			prefix := a.Name.Local
			if a.Name.Space == "" {
				prefix = ""
			}
			if prefix == "xmlns" || prefix != "" && a.Value == "" || (prefix == "xml") != (a.Value == xmlSpace) {
				return fault(line, Malformed, "%s is no declaration of a namespace: correct it", excerpt("xmlns:"+prefix))
			}
			e.spaces = append(e.spaces, declared{prefix, a.Value})
		}
	}
	c.stack = append(c.stack, e)
	name, err := c.expand(line, t)
	if err != nil {
		return err
	}
	if name.Space == includeSpace {
		return fault(line, Outside, "it includes another document with XInclude: write its content into the file")
	}
	if len(c.stack) == 1 {
		return c.root(line, name)
	}
	if c.record != nil {
		c.record.open(len(c.stack), name)
	} else if c.records.open(len(c.stack), name) {
		if c.counts.All() >= c.limits.MaxRecords {
			return fault(line, TooManyRecords, "it has more than %d records: split it", c.limits.MaxRecords)
		}
		c.record = newReading(c.format, c.counts.All()+1, line, len(c.stack))
	}
	return nil
}

const (
	xmlSpace     = "http://www.w3.org/XML/1998/namespace"
	includeSpace = "http://www.w3.org/2001/XInclude"
)

// bounded checks the bounds that a further element could exceed.
func (c *checker) bounded(line int, t xml.StartElement) error {
	switch c.elements++; {
	case len(c.stack) == 0 && c.format != nil:
		return fault(line, Malformed, "a second root element follows: a file has one")
	case len(c.stack) >= MaxDepth:
		return fault(line, TooDeep, "its elements are nested more than %d deep: make it flatter", MaxDepth)
	case c.elements > MaxElements:
		return fault(line, TooMany, "it has more than %d elements: split it", MaxElements)
	case len(t.Attr) > MaxAttributes:
		return fault(line, TooMany, "an element has more than %d attributes: remove some", MaxAttributes)
	}
	return nil
}

// expand returns the expanded name of an element, and checks those of its attributes.
func (c *checker) expand(line int, t xml.StartElement) (Name, error) {
	name, ok := c.resolve(t.Name, true)
	var seen map[Name]bool
	if len(t.Attr) > 1 {
		seen = make(map[Name]bool, len(t.Attr))
	}
	for _, a := range t.Attr {
		n, known := Name{"xmlns", a.Name.Local}, true
		if a.Name.Space != "xmlns" {
			n, known = c.resolve(a.Name, false)
		}
		if ok = ok && known; seen[n] {
			return name, fault(line, Malformed, "an element has the attribute %s twice: keep one", excerpt(a.Name.Local))
		}
		if seen != nil {
			seen[n] = true
		}
	}
	if !ok {
		return name, fault(line, Malformed, "a prefix of <%s> or of its attributes is not declared: declare it with xmlns", short(t.Name.Local, 100))
	}
	return name, nil
}

// resolve returns the expanded name of a written one; false if its prefix is not
// declared. Only elements are in the default namespace.
func (c *checker) resolve(written xml.Name, isElement bool) (Name, bool) {
	switch {
	case strings.Contains(written.Local, ":"):
		return Name{}, false
	case written.Space == "xml":
		return Name{xmlSpace, written.Local}, true
	case written.Space == "" && !isElement:
		return Name{"", written.Local}, true
	}
	for _, e := range slices.Backward(c.stack) {
		for _, d := range e.spaces {
			if d.prefix == written.Space {
				return Name{d.space, written.Local}, true
			}
		}
	}
	return Name{"", written.Local}, written.Space == ""
}

func (c *checker) root(line int, name Name) error {
	if c.rootOnly {
		c.format = &Format{Root: name}
		return nil
	}
	known := make([]string, 0, len(c.formats))
	for i, f := range c.formats {
		if f.Root == name {
			c.format, c.records = &c.formats[i], follower{path: f.Record, base: 1}
			return nil
		}
		known = append(known, excerpt(f.Root.String()))
	}
	return fault(line, UnknownRoot, "its root element is %s, and the profile knows %s: deposit a file of such a kind, or with another profile",
		excerpt(name.String()), strings.Join(known, ", "))
}

func (c *checker) close(line int, t xml.EndElement) error {
	depth := len(c.stack)
	if depth == 0 || c.stack[depth-1].written != t.Name {
		return fault(line, Malformed, "</%s> ends an element that is not open there: correct or move it", short(t.Name.Local, 100))
	}
	if c.record != nil {
		c.record.close(depth)
	}
	c.stack = c.stack[:depth-1]
	if c.records.close(depth) {
		record := c.judge(c.record)
		c.record = nil
		c.counts.Add(record.Outcome)
		return c.each(record)
	}
	return nil
}

// end returns what is wrong with the file that was read to its end.
func (c *checker) end() error {
	switch {
	case c.format == nil:
		return fault(1, Malformed, "it is empty: it has no root element")
	case c.counts.All() == 0:
		line, _ := c.dec.InputPos()
		return fault(line, NoRecords, "it has no record: below its root a record is %s", excerpt(c.format.path(c.format.Record)))
	}
	return nil
}
