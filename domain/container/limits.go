package container

// Limits bound what a container may unpack to.
type Limits struct {
	Files     int   // how many
	FileBytes int64 // of one file
	Bytes     int64 // of all files together
	// Ratio is how many bytes may come of each byte of the container. It counts from
	// RatioFrom bytes on: what is small does no harm.
	Ratio int64
	Depth int // folders in each other
}

// RatioFrom is from how many unpacked bytes on the ratio counts.
const RatioFrom = 16 << 20

// most returns how many bytes a container of a size may unpack to, and the code of the limit
// that says so.
func (l Limits) most(size int64) (bytes int64, ratio bool) {
	bytes = l.Bytes
	if size < bytes/max(l.Ratio, 1) { // else the product is larger than the other limit
		if of := max(size*l.Ratio, RatioFrom); of < bytes {
			return of, true
		}
	}
	return bytes, false
}

// MaxBytes returns the most bytes that a container of a size may unpack to.
func (l Limits) MaxBytes(size int64) int64 {
	bytes, _ := l.most(size)
	return bytes
}
