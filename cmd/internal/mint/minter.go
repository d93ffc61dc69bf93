package mint

import (
	"fmt"
	"strconv"
	"strings"
)

// Minter makes the names of one installation. Its zero value is invalid.
type Minter struct {
	Scheme string // ARK or DOI; "" = ARK
	// Authority is, for ARKs, the name assigning authority number: five to nine betanumeric
	// characters; 99999 is set aside for tests. For DOIs it is the prefix: 10. and four to
	// six digits; 10.5072 is for tests.
	Authority string
	// Shoulder is put before each body: one to eight consonants and one digit,
	// such as fk4. Ending with the only digit, none is the start of another.
	Shoulder string
}

// Bounds of the parts: with bodies of up to 8 characters, 5 * 10^11 jobs, a name
// stays within 28 places. Beyond, the check character would miss some swaps.
const (
	minNAAN, maxNAAN = 5, 9
	maxShoulder      = 9
)

// Validate returns every fault of the settings in one *Error with CodeMinterInvalid.
func (m Minter) Validate() error {
	var faults []string
	switch {
	case m.Scheme != "" && m.Scheme != ARK && m.Scheme != DOI:
		faults = append(faults, fmt.Sprintf("the scheme %q must be %s or %s", m.Scheme, ARK, DOI))
	case m.Scheme == DOI && !isPrefix(m.Authority):
		faults = append(faults, fmt.Sprintf("the prefix %q must be 10. and 4 to 6 digits, such as 10.5072", m.Authority))
	case m.Scheme != DOI && !isNAAN(m.Authority):
		faults = append(faults, fmt.Sprintf("the authority number %q must be %d to %d characters out of %s", m.Authority, minNAAN, maxNAAN, betanumeric))
	}
	if !isShoulder(m.Shoulder) {
		faults = append(faults, fmt.Sprintf("the shoulder %q must be 1 to %d consonants (no l, no y) and one digit, such as fk4", m.Shoulder, maxShoulder-1))
	}
	if faults == nil {
		return nil
	}
	return &Error{Code: CodeMinterInvalid, Message: "minter: " + strings.Join(faults, "; ")}
}

func isNAAN(s string) bool {
	return len(s) >= minNAAN && len(s) <= maxNAAN && isBetanumeric(s)
}

// isPrefix reports whether s is the prefix of DOIs. With it, too, a name stays within 28 places.
func isPrefix(s string) bool {
	digits, ok := strings.CutPrefix(s, "10.")
	return ok && len(digits) >= 4 && len(digits) <= 6 && strings.Trim(digits, "0123456789") == ""
}

func isShoulder(s string) bool {
	return len(s) >= 2 && len(s) <= maxShoulder && isBetanumeric(s) && strings.IndexAny(s, "0123456789") == len(s)-1
}

// Name returns the identifier of number n. Different numbers have different names. The
// Minter must be valid.
func (m Minter) Name(n uint64) string {
	name := m.Shoulder + encode(n)
	return ID{m.Scheme, m.Authority, name + string(checkCharacter(m.Authority+"/"+name))}.String()
}

// Derive returns the identifier of a job: that of jid0000000042 is Name(42). The error is an
// *Error with CodeMinterInvalid or CodeJobIDInvalid.
func (m Minter) Derive(jid string) (string, error) {
	if err := m.Validate(); err != nil {
		return "", err
	}
	n, err := jobNumber(jid)
	if err != nil {
		return "", err
	}
	return m.Name(n), nil
}

// MadeFor reports whether a name is the one that a job is given, whatever the authority
// and the shoulder.
func MadeFor(name, jid string) bool {
	id, err := Parse(name)
	end := strings.IndexAny(id.Name, "0123456789")
	if err != nil || end < 0 {
		return false
	}
	made, err := Minter{id.Scheme, id.Authority, id.Name[:end+1]}.Derive(jid)
	return err == nil && made == name
}

// Owns reports whether a name is of the authority and the shoulder.
func (m Minter) Owns(id ID) bool {
	return (id.Scheme == DOI) == (m.Scheme == DOI) && id.Authority == m.Authority && strings.HasPrefix(id.Name, m.Shoulder)
}

// Mintable reports whether a name, or what it is a part or a variant of, is one that a
// job has or may yet get.
func (m Minter) Mintable(id ID) bool {
	base := id.Name
	if end := strings.IndexAny(base, "/."); end >= 0 {
		base = base[:end]
	}
	body, ok := strings.CutPrefix(base, m.Shoulder)
	if !m.Owns(id) || !ok || len(body) <= minWidth {
		return false
	}
	n, ok := decode(body[:len(body)-1])
	return ok && n <= maxJob && m.Name(n) == ID{id.Scheme, id.Authority, base}.String()
}

// maxJob is the highest number of a job: an id has ten digits.
const maxJob = 9_999_999_999

// decode undoes encode; ok is false for what encode never gives.
func decode(body string) (n uint64, ok bool) {
	for i := range len(body) {
		v := strings.IndexByte(betanumeric, body[i])
		if v < 0 || n > maxJob {
			return 0, false
		}
		n = n*radix + uint64(v)
	}
	return n, true
}

// jobNumber returns the number of a job id. It accepts exactly one spelling of each
// number, since two would share a name.
func jobNumber(jid string) (uint64, error) {
	digits, ok := strings.CutPrefix(jid, "jid")
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || fmt.Sprintf("jid%010d", n) != jid {
		return 0, &Error{Code: CodeJobIDInvalid, Message: fmt.Sprintf("minter: %q is not a job id (jid and ten digits)", jid)}
	}
	return n, nil
}

// betanumeric is the alphabet of bodies and check characters: no vowels, so
// that no words arise, and no l, which looks like 1. Its length is prime,
// which is what lets the check character find typing errors.
const betanumeric = "0123456789bcdfghjkmnpqrstvwxz"

const radix = uint64(len(betanumeric))

// minWidth is the least length of a body: 29^6, about 595 million jobs, have
// bodies of equal length; later ones get longer, never ambiguous.
const minWidth = 6

// encode returns n in the betanumeric alphabet, most significant first, padded
// with zeros to minWidth. Different numbers give different bodies.
func encode(n uint64) string {
	var buf [16]byte
	i := len(buf)
	for n > 0 || len(buf)-i < minWidth {
		i--
		buf[i] = betanumeric[n%radix]
		n /= radix
	}
	return string(buf[i:])
}

// checkCharacter returns the NOID check character of "AUTHORITY/name": the sum
// of position (from 1) times value, modulo 29. Characters outside the alphabet,
// such as the slash, count as zero but take up a position.
func checkCharacter(s string) byte {
	sum := 0
	for i := range len(s) {
		if v := strings.IndexByte(betanumeric, s[i]); v > 0 {
			sum += (i + 1) * v
		}
	}
	return betanumeric[sum%len(betanumeric)]
}

func isBetanumeric(s string) bool { return strings.Trim(s, betanumeric) == "" }
