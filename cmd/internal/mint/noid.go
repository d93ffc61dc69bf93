package mint

import "strings"

// betanumeric is the alphabet of bodies and check characters: no vowels, so
// that no words arise, and no l, which looks like 1. Its length is prime,
// which is what lets the check character find typing errors.
const betanumeric = "0123456789bcdfghjkmnpqrstvwxz"

const radix = uint64(len(betanumeric))

// minWidth is the least length of a body: 29^6, about 595 million jobs, have
// bodies of equal length; later ones get longer, never ambiguous.
const minWidth = 6

// encode writes n in the betanumeric alphabet, most significant first, padded
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

// checkCharacter computes the NOID check character over "NAAN/name": the sum
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
