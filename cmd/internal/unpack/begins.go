package unpack

import (
	"bufio"
	"encoding/binary"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain/container"
)

// lookWindow is [maxWindow] for streams of which only the beginning is looked at.
const lookWindow = 8 << 20

// documents are endings of files that are a zip or a tar inside, and yet one thing to those who
// have them.
var documents = []string{
	".docx", ".docm", ".dotx", ".xlsx", ".xlsm", ".xltx", ".pptx", ".pptm", ".ppsx", ".vsdx", ".odt", ".ods", ".odp", ".odg", ".odf", ".ott",
	".epub", ".jar", ".war", ".ear", ".apk", ".ipa", ".xpi", ".whl", ".nupkg", ".kmz", ".cbz", ".cbt", ".3mf", ".usdz", ".idml", ".mscz", ".ova", ".gem", ".wacz",
}

// inDocuments are what the first name in a zip begins with where it is a document: of offices, a
// book or a program.
var inDocuments = []string{"mimetype", "[Content_Types].xml", "_rels/", "META-INF/"}

// Packed reports whether a file begins as a container, by what its first bytes hold. It reads no
// more of it than that takes: of a compressed one the first block. One that its name or its
// first member shows to be a document is none.
func Packed(name string, r *bufio.Reader) bool {
	head, _ := r.Peek(container.HeadBytes) // fewer, if it is shorter
	format, err := container.Detect(head)
	if err != nil || slices.Contains(documents, strings.ToLower(path.Ext(name))) {
		return false
	}
	if format == container.Zip {
		return !isDocument(head)
	}
	content, end, err := decompressed(format, r, lookWindow)
	if err != nil {
		return false
	}
	defer end()
	first := make([]byte, container.HeadBytes)
	_, err = io.ReadFull(content, first)
	// What begins with nothing but zeros is the end of an empty tar, or anything else.
	return err == nil && container.BeginsTar(first) && strings.Trim(string(first), "\x00") != ""
}

// isDocument reports whether the first member of a zip is that of a document.
func isDocument(head []byte) bool {
	const fixed, length = 30, 26 // of a local file header, and where the length of the name is in it
	if len(head) < fixed {
		return false
	}
	name := head[fixed:]
	name = name[:min(len(name), int(binary.LittleEndian.Uint16(head[length:])))]
	return slices.ContainsFunc(inDocuments, func(begins string) bool { return strings.HasPrefix(string(name), begins) })
}
