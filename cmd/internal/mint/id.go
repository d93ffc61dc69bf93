package mint

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// The schemes of identifiers.
const (
	ARK = "ark"
	DOI = "doi"
)

// ID is a parsed identifier.
type ID struct {
	Scheme    string // ARK or DOI
	Authority string // the number of an ARK's name assigning authority, in lower case; the prefix of a DOI
	Name      string // all after the slash behind the authority; of an ARK without hyphens, of a DOI in lower case
}

// String returns the normal form, ark:/NAAN/name or doi:PREFIX/name: two identifiers name the
// same thing when their normal forms are equal.
func (id ID) String() string {
	if id.Scheme == DOI {
		return "doi:" + id.Authority + "/" + id.Name
	}
	return "ark:/" + id.Authority + "/" + id.Name
}

// hyphens have no meaning in an ARK: line breaking and word processors add
// them and turn them into their look-alikes.
var hyphens = strings.NewReplacer("-", "", "\u2010", "", "\u2011", "", "\u2012", "", "\u2013", "", "\u2014", "", "\u2015", "")

// resolvers are the hosts that resolve DOIs, which need no label there.
var resolvers = regexp.MustCompile(`^(?i:https?://(?:dx\.)?doi\.org/|doi:)`)

// maxID is the longest identifier, in bytes.
const maxID = 2048

// Parse parses an ARK or a DOI in any of its spellings. An ARK may have a slash after the label
// or none, label and NAAN in any case, hyphens anywhere after the label, a resolver's address in
// front; the case of the name counts. A DOI begins with doi: or https://doi.org/, and its case
// does not count. The error is an *Error with CodeARKInvalid or CodeDOIInvalid.
func Parse(s string) (ID, error) {
	if label := resolvers.FindString(s); label != "" {
		return parseDOI(s, s[len(label):])
	}
	if len(s) > maxID {
		return ID{}, invalid(CodeARKInvalid, s[:40]+"...", "it is longer than 2,048 bytes")
	}
	rest := s
	if at := strings.Index(rest, "://"); at >= 0 {
		_, rest, _ = strings.Cut(rest[at+3:], "/")
	}
	if len(rest) < 4 || !strings.EqualFold(rest[:4], "ark:") {
		return ID{}, invalid(CodeARKInvalid, s, "it does not begin with ark:/ (nor with doi:)")
	}
	rest = hyphens.Replace(strings.TrimPrefix(rest[4:], "/"))
	naan, name, _ := strings.Cut(rest, "/")
	naan = strings.ToLower(naan)
	if !isNAAN(naan) {
		return ID{}, invalid(CodeARKInvalid, s, fmt.Sprintf("after ark:/ it needs an authority number of %d to %d digits or consonants", minNAAN, maxNAAN))
	}
	name = strings.TrimRight(name, "/")
	if why := badParts(name); why != "" {
		return ID{}, invalid(CodeARKInvalid, s, why)
	}
	if name = strings.TrimRight(name, "./"); strings.HasPrefix(name, ".") {
		return ID{}, invalid(CodeARKInvalid, s, "its name begins with a dot")
	}
	for _, r := range name {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune(`"<>\^{|}`+"`?#", r) {
			return ID{}, invalid(CodeARKInvalid, s, fmt.Sprintf("%q may not stand in a name", r))
		}
	}
	return ID{ARK, naan, name}, nil
}

// parseDOI parses rest, a DOI without its label. s is the whole.
func parseDOI(s, rest string) (ID, error) {
	if len(s) > maxID {
		return ID{}, invalid(CodeDOIInvalid, s[:40]+"...", "it is longer than 2,048 bytes")
	}
	prefix, name, _ := strings.Cut(strings.ToLower(rest), "/")
	if !isPrefix(prefix) {
		return ID{}, invalid(CodeDOIInvalid, s, "it needs a prefix such as 10.5072 after its label")
	}
	for _, r := range name {
		if !strings.ContainsRune(doiCharacters, r) {
			return ID{}, invalid(CodeDOIInvalid, s, fmt.Sprintf("%q may not stand in a name", r))
		}
	}
	if why := badParts(name); why != "" {
		return ID{}, invalid(CodeDOIInvalid, s, why)
	}
	return ID{DOI, prefix, name}, nil
}

// doiCharacters are those that DataCite takes in the name of a DOI.
const doiCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-._;()/:*~$="

// badParts returns what is wrong with the parts of a name, "" = nothing.
func badParts(name string) string {
	if name == "" {
		return "it has no name after the authority"
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Sprintf("its name has the part %q, which names nothing", part)
		}
	}
	return ""
}

func invalid(code domain.Code, s, why string) error {
	kind := "an ARK"
	if code == CodeDOIInvalid {
		kind = "a DOI"
	}
	return &Error{Code: code, Message: fmt.Sprintf("identifier %q is not %s: %s", s, kind, why)}
}
