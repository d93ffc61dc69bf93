package container

import (
	"bytes"
	"strconv"
	"strings"
)

// Format is a format of containers.
type Format string

// The formats that are unpacked, and what Detect finds of a compressed one before it is
// known whether a tar is in it.
const (
	Zip      Format = "zip"
	Tar      Format = "tar"
	TarGzip  Format = "tar.gz"
	TarBzip2 Format = "tar.bz2"
	TarZstd  Format = "tar.zst"
)

// formats has what a format begins with.
var formats = []struct {
	format Format
	begins string
}{
	{Zip, "PK\x03\x04"}, {Zip, "PK\x05\x06"}, {Zip, "PK\x07\x08"}, {TarGzip, "\x1f\x8b"}, {TarBzip2, "BZh"}, {TarZstd, "\x28\xb5\x2f\xfd"},
	{TarZstd, "\x50\x2a\x4d\x18"}, // a frame that is skipped
}

// others are formats that are not unpacked, for the message.
var others = []struct{ name, begins string }{
	{"xz", "\xfd7zXZ\x00"}, {"7z", "7z\xbc\xaf\x27\x1c"}, {"RAR", "Rar!\x1a\x07"}, {"lzip", "LZIP"}, {"compress", "\x1f\x9d"}, {"cpio", "07070"}, {"ar", "!<arch>\n"},
}

// HeadBytes is how many first bytes tell a format.
const HeadBytes = 512

// Supported names the formats that are unpacked, for messages.
const Supported = "zip, tar, tar.gz, tar.bz2 or tar.zst"

// Detect returns the format that the first bytes of a container show; its name does not
// count. The error is an [*Error].
func Detect(head []byte) (Format, error) {
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.begins)) {
			return f.format, nil
		}
	}
	if BeginsTar(head) {
		return Tar, nil
	}
	for _, o := range others {
		if bytes.HasPrefix(head, []byte(o.begins)) {
			return "", Fault(CodeFormat, "", "the container is %s, which is not unpacked: make it %s, or deposit it as a file", o.name, Supported)
		}
	}
	return "", Fault(CodeFormat, "", "the container is none of the formats that are unpacked: make it %s, or deposit it as a file", Supported)
}

// BeginsTar reports whether the first bytes are the header of a tar, or the end of an empty one.
func BeginsTar(head []byte) bool {
	if len(head) < HeadBytes {
		return false
	}
	head = head[:HeadBytes]
	if bytes.Equal(head[257:262], []byte("ustar")) || len(bytes.Trim(head, "\x00")) == 0 {
		return true
	}
	// The oldest tars have no name for themselves, but a sum of their header.
	want, err := strconv.ParseInt(strings.Trim(string(head[148:156]), " \x00"), 8, 64)
	if err != nil {
		return false
	}
	var sum int64
	for i, b := range head {
		if i >= 148 && i < 156 {
			b = ' '
		}
		sum += int64(b)
	}
	return sum == want
}
