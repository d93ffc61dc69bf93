package container

// Listing is what was found in a container that may be unpacked.
type Listing struct {
	Container string  `json:"container"` // name
	SHA256    string  `json:"sha256"`    // of the container
	Size      int64   `json:"size"`      // of the container, in bytes
	Format    Format  `json:"format"`
	Files     []Found `json:"files"` // in the order in which they stand there
	Bag       *Bag    `json:"bag,omitempty"`
	ERC       *ERC    `json:"erc,omitempty"`
}

// Found is a file of a container.
type Found struct {
	Name   string `json:"name"` // in the object
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// Bag says that a container is a bag, whose manifests were compared with its files.
type Bag struct {
	Root       string   `json:"root,omitempty"` // the folder that is the bag, with a slash at its end; "" = the container
	Version    string   `json:"version"`
	Algorithms []string `json:"algorithms"` // of the manifests that were compared
}

// Bytes returns how many bytes all files have.
func (l Listing) Bytes() (sum int64) {
	for _, f := range l.Files {
		sum += f.Size
	}
	return sum
}
