package powercut

import (
	"syscall"
	"time"
)

// Open counts a user of a file: while it has one, its content stays, with or
// without a name. Close takes the count back.
func (d *Disk) Open(id ID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[id]
	if n == nil {
		return syscall.ENOENT
	}
	n.opens++
	return nil
}

// Close ends what Open began.
func (d *Disk) Close(id ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.nodes[id]; n != nil {
		n.opens--
		d.drop(id)
	}
}

// Read fills buf from an offset, and returns how much there was.
func (d *Disk) Read(id ID, off int64, buf []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[id]
	if n == nil {
		return 0, syscall.ENOENT
	}
	return n.data.read(off, buf), nil
}

// Write puts data at an offset.
func (d *Disk) Write(id ID, off int64, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[id]
	if n == nil {
		return syscall.ENOENT
	}
	n.data.write(off, data)
	n.changed = time.Now()
	return nil
}

// Resize cuts a file's end off or adds zeros.
func (d *Disk) Resize(id ID, size int64) error {
	return d.change(id, func(n *node) { n.data.resize(size) })
}

// Allow changes the permissions of a node.
func (d *Disk) Allow(id ID, mode uint32) error {
	return d.change(id, func(n *node) { n.mode = n.mode&syscall.S_IFMT | mode&^syscall.S_IFMT })
}

// Give changes the owner of a node.
func (d *Disk) Give(id ID, uid, gid uint32) error {
	return d.change(id, func(n *node) { n.uid, n.gid = uid, gid })
}

func (d *Disk) change(id ID, how func(*node)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[id]
	if n == nil {
		return syscall.ENOENT
	}
	how(n)
	n.changed = time.Now()
	return nil
}
