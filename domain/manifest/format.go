package manifest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Format writes the manifest in the form that [Parse] reads, with LF line ends.
// Reading it gives the same manifest back, but for line numbers; faulty rows
// that were parsed are written as they stood. What a manifest cannot hold is
// refused with an [Error] that counts the row: a value whose column is not in
// Fields, a line break, %20 or %7c meant literally, a digest without its
// algorithm, a name that two files of an object share.
func (m *Manifest) Format() ([]byte, error) {
	if len(m.Rows) == 0 {
		return nil, fault(0, NoRows, "the manifest lists nothing; add a row before writing it")
	}
	header := m.formatHeader()
	if err := m.checkHeader(header); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(header)
	lines := make([]string, len(m.Rows))
	for i := range m.Rows {
		lines[i] = m.Rows[i].format(m.Fields)
		b.WriteString(lines[i])
		b.WriteByte('\n')
	}
	if err := m.checkRows(lines); err != nil {
		return nil, err
	}
	b.WriteString("#%eof\n")
	return []byte(b.String()), nil
}

func (m *Manifest) formatHeader() string {
	var b strings.Builder
	if m.Version != "" {
		fmt.Fprintf(&b, "#%%checkm_%s\n", m.Version)
	}
	fmt.Fprintf(&b, "#%%profile | %s\n", m.Profile.URL())
	for _, p := range m.Prefixes {
		b.WriteString(strings.TrimSuffix("#%prefix | "+p.Name+" | "+p.URI, " | ") + "\n")
	}
	b.WriteString("#%fields")
	for _, f := range m.Fields {
		b.WriteString(" | " + f.String())
	}
	b.WriteByte('\n')
	return b.String()
}

// checkHeader reads the header back; a value with a line break, for one, comes
// back as something else.
func (m *Manifest) checkHeader(header string) error {
	const n = math.MaxInt // no limit: this is not a stranger's text
	got, err := Parse([]byte(header+"http://localhost/row\n#%eof\n"), Limits{MaxBytes: n, MaxLineBytes: n})
	if err != nil {
		return fmt.Errorf("the manifest's header cannot be written: %w", err)
	}
	if got.Version != m.Version || got.Profile != m.Profile || len(got.Rows) != 1 ||
		!slices.Equal(got.Prefixes, m.Prefixes) || !slices.Equal(got.Fields, m.Fields) {
		return fault(0, BadHeader, "the manifest's header cannot be written: it reads back differently; correct its version, profile, prefixes or fields")
	}
	return nil
}

// checkRows reads the rows back.
func (m *Manifest) checkRows(lines []string) error {
	got := Manifest{Profile: m.Profile}
	var rows []int // of each row of got in m
	for i, line := range lines {
		if m.Rows[i].raw == "" {
			got.Rows = append(got.Rows, parseRow(line, i+1, m.Fields, true, func(*Error) {}))
			rows = append(rows, i)
		}
	}
	markNameFaults(&got)
	for i := range got.Rows {
		g, want := &got.Rows[i], &m.Rows[rows[i]]
		switch {
		case g.equal(want):
		case g.Fault != nil:
			return fault(0, g.Fault.Code, "row %d cannot be written: %s", rows[i]+1, g.Fault.Message)
		default:
			return fault(0, RowUnwritable, "row %d cannot be written: it reads back differently; "+
				"each value needs its column, and none may hold %%20, %%7c or blanks that a manifest drops", rows[i]+1)
		}
	}
	return nil
}

// format returns the row's line without a line end.
func (r *Row) format(fields []Field) string {
	if r.raw != "" {
		return r.raw
	}
	cells := make([]string, len(fields))
	for i, f := range fields {
		cells[i] = r.cell(f)
	}
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	return strings.Join(cells, " | ")
}

func (r *Row) cell(f Field) string {
	switch f {
	case FileURL:
		return r.FileURL
	case HashAlgorithm:
		return encode(string(r.HashAlgorithm))
	case HashValue:
		return encode(r.HashValue)
	case FileSize:
		if r.Size == -1 {
			return ""
		}
		return strconv.FormatInt(r.Size, 10)
	case FileName:
		if cell := encode(r.FileName); decode(cell) == r.FileName {
			return cell
		}
		return "" // it holds %20 or %7c literally: only the URL's path can say that
	case LocalIdentifier:
		return encode(strings.Join(r.LocalIdentifiers, ";"))
	case PrimaryIdentifier:
		return encode(r.PrimaryIdentifier)
	default:
		if !f.Known() {
			return ""
		}
		return encode(*texts[f](r))
	}
}

// encode escapes pipes, and the spaces at the ends that a reader would trim.
func encode(value string) string {
	inner := strings.Trim(value, " ")
	if inner == "" {
		return strings.Repeat("%20", len(value))
	}
	front := strings.Index(value, inner)
	back := len(value) - front - len(inner)
	return strings.Repeat("%20", front) + strings.ReplaceAll(inner, "|", "%7c") + strings.Repeat("%20", back)
}
