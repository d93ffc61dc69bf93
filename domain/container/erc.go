package container

import (
	"slices"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/text"
)

// Citation is the name of the citation that a depositor may put into a container, at its top.
const Citation = "mrt-erc.txt"

// MaxCitation is how many bytes a citation may have.
const MaxCitation = 64 << 10

// CodeERC is the code of a citation that cannot be read.
const CodeERC domain.Code = "erc_invalid"

// ERC is what a depositor's citation says of the object: a kernel of an electronic resource
// citation. What is not known is "".
type ERC struct {
	Who      string   `json:"who,omitempty"`
	What     string   `json:"what,omitempty"`
	When     string   `json:"when,omitempty"`
	Primary  string   `json:"primary,omitempty"`   // identifier of the object
	LocalIDs []string `json:"local_ids,omitempty"` // the depositor's own names of it
}

// ParseERC reads a citation in ANVL: lines "label: value", in which a line that begins with
// blanks continues the one before, "#" begins a comment, and %XX is a byte. The labels are
// who, what, when, where-primary, where-local and where, which is the primary identifier if
// it is an ARK, and else a local one; local identifiers are separated by ";". Labels that
// are not known do not count, nor do values such as (:unas), which say that nothing is
// known. The first value of a label counts, but all local identifiers.
func ParseERC(member string, data []byte) (*ERC, error) {
	if len(data) > MaxCitation {
		return nil, Fault(CodeERC, member, "has more than %d bytes: shorten it", MaxCitation)
	}
	if err := text.Check(strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(strings.TrimPrefix(string(data), "\ufeff"))); err != nil {
		return nil, Fault(CodeERC, member, "%v", err)
	}
	var e ERC
	for label, value := range elements(string(data)) {
		if value = strings.ReplaceAll(value, "\t", " "); value == "" || strings.HasPrefix(value, "(:") {
			continue
		}
		if err := text.Check(value); err != nil {
			return nil, Fault(CodeERC, member, "has a value of %s that %v", label, err)
		}
		switch label {
		case "who":
			first(&e.Who, value)
		case "what":
			first(&e.What, value)
		case "when":
			first(&e.When, value)
		case "where":
			if strings.Contains(value, "ark:") && !strings.Contains(value, ";") {
				first(&e.Primary, value)
			} else {
				e.local(value)
			}
		case "where-primary":
			first(&e.Primary, value)
		case "where-local":
			e.local(value)
		}
	}
	return &e, nil
}

func first(into *string, value string) {
	if *into == "" {
		*into = value
	}
}

// local adds local identifiers.
func (e *ERC) local(list string) {
	for id := range strings.SplitSeq(list, ";") {
		if id = strings.TrimSpace(id); id != "" && !strings.HasPrefix(id, "(:") && !slices.Contains(e.LocalIDs, id) {
			e.LocalIDs = append(e.LocalIDs, id)
		}
	}
}

// elements yields the labels, in lower case, with their values.
func elements(data string) func(yield func(label, value string) bool) {
	return func(yield func(label, value string) bool) {
		var label, value string
		for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(data, "\ufeff")), "\n") {
			switch {
			case strings.HasPrefix(line, "#"):
			case label != "" && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")):
				value += " " + strings.TrimSpace(line)
			default:
				if label != "" && !yield(label, decode(strings.TrimSpace(value))) {
					return
				}
				label, value, _ = strings.Cut(line, ":")
				label = strings.ToLower(strings.TrimSpace(label))
			}
		}
		if label != "" {
			yield(label, decode(strings.TrimSpace(value)))
		}
	}
}

// decode replaces %XX by the byte; what is not one stays.
func decode(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '%' && i+2 < len(value) {
			if c, err := strconv.ParseUint(value[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(value[i])
	}
	return b.String()
}
