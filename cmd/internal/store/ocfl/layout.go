package ocfl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// Names below a storage root and below the root of an object.
const (
	Inventory = "inventory.json"
	Sidecar   = Inventory + "." + algorithm
	// Declaration declares an object (3.3), by its name and its content.
	Declaration     = "0=" + declared
	DeclarationText = declared + "\n"

	declared  = "ocfl_object_1.1"
	algorithm = "sha256"
	content   = "/content/"
)

// Layout is the registered extension by which roots of objects are found.
const Layout = "0004-hashed-n-tuple-storage-layout"

// The tuples of an object's root: 3 of 3 digits, which are the extension's defaults.
const (
	tuples    = 3
	tupleSize = 3
)

// File is a small file with its name.
type File struct {
	Name string
	Data []byte
}

// StorageRoot returns the files that declare a storage root and its layout (4.1, 4.2).
func StorageRoot() []File {
	return []File{
		{"0=ocfl_1.1", []byte("ocfl_1.1\n")},
		{"extensions/" + Layout + "/config.json", encode(struct {
			Name   string `json:"extensionName"`
			Digest string `json:"digestAlgorithm"`
			Size   int    `json:"tupleSize"`
			Number int    `json:"numberOfTuples"`
			Short  bool   `json:"shortObjectRoot"`
		}{Layout, algorithm, tupleSize, tuples, false})},
		{"ocfl_layout.json", encode(struct {
			Extension   string `json:"extension"`
			Description string `json:"description"`
		}{Layout, "The root of an object is the SHA-256 of its identifier, below three directories of three of its digits each."})},
	}
}

// ObjectRoot returns the root of an object below the storage root.
func ObjectRoot(id string) string {
	sum := sha256.Sum256([]byte(id))
	name := hex.EncodeToString(sum[:])
	var b []byte
	for i := range tuples {
		b = append(append(b, name[i*tupleSize:(i+1)*tupleSize]...), '/')
	}
	return string(append(b, name...))
}

// VersionName returns the directory of a version.
func VersionName(number int) string { return "v" + strconv.Itoa(number) }

// ContentDir returns the directory of the files that are new with a version, with a slash at
// the end.
func ContentDir(number int) string { return VersionName(number) + content }

// SidecarOf returns the content of the sidecar of an inventory (3.7).
func SidecarOf(inventory []byte) []byte {
	sum := sha256.Sum256(inventory)
	return []byte(hex.EncodeToString(sum[:]) + " " + Inventory + "\n")
}

// encode returns JSON for people. Equal values have equal bytes.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v) // of values without anything that JSON lacks
	return b.Bytes()
}
