package store

import "io"

// Reserved returns a writer to a file of the working directory that ends with CodeDiskFull
// when less than so many bytes are free: a server may send more than was promised for its
// files, and other programs write to the disk too. The caller gives a part of the reserve; the
// rest of it is for what the file system adds to the size of files.
func (w *Work) Reserved(to io.Writer, left int64) io.Writer {
	return &reserved{Writer: to, work: w, left: left}
}

type reserved struct {
	io.Writer
	work *Work
	left int64 // bytes that stay free
	due  int64 // bytes until the next check
}

// reservedEvery is how many bytes of a file are written between two checks.
const reservedEvery = 4 << 20

// Write implements io.Writer.
func (r *reserved) Write(p []byte) (int, error) {
	if r.due -= int64(len(p)); r.due < 0 {
		if err := r.work.Room(r.left); err != nil {
			return 0, err
		}
		r.due = reservedEvery
	}
	return r.Writer.Write(p)
}
