package mint

import (
	"fmt"
	"strconv"
	"strings"
)

// Minter makes the names of one installation. Its zero value is invalid.
type Minter struct {
	// NAAN is the name assigning authority number: five to nine betanumeric
	// characters. 99999 is set aside for tests.
	NAAN string
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
	if !isNAAN(m.NAAN) {
		faults = append(faults, fmt.Sprintf("the authority number %q must be %d to %d characters out of %s", m.NAAN, minNAAN, maxNAAN, betanumeric))
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

func isShoulder(s string) bool {
	return len(s) >= 2 && len(s) <= maxShoulder && isBetanumeric(s) && strings.IndexAny(s, "0123456789") == len(s)-1
}

// Name returns the ARK of number n. Different numbers have different names. The
// Minter must be valid.
func (m Minter) Name(n uint64) string {
	s := m.NAAN + "/" + m.Shoulder + encode(n)
	return "ark:/" + s + string(checkCharacter(s))
}

// Derive returns the ARK of a job: that of jid0000000042 is Name(42). The error is an
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

// checkCharacter returns the NOID check character of "NAAN/name": the sum
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
