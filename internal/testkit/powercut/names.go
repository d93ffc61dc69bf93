package powercut

import (
	"syscall"
	"time"
)

// Info is what is known of a node.
type Info struct {
	ID       ID
	Mode     uint32 // with its type
	UID, GID uint32
	Size     int64
	Links    int
	Changed  time.Time
}

func (d *Disk) info(id ID) Info {
	n := d.nodes[id]
	i := Info{ID: id, Mode: n.mode, UID: n.uid, GID: n.gid, Size: n.data.size, Links: len(n.in), Changed: n.changed}
	if n.isDir() {
		i.Links++ // its own dot
	}
	return i
}

// Stat describes a node.
func (d *Disk) Stat(id ID) (Info, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.nodes[id] == nil {
		return Info{}, syscall.ENOENT
	}
	return d.info(id), nil
}

// Find returns the node of a name.
func (d *Disk) Find(dir ID, name string) (Info, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, err := d.dir(dir)
	if err != nil {
		return Info{}, err
	}
	id, ok := parent.names[name]
	if !ok {
		return Info{}, syscall.ENOENT
	}
	return d.info(id), nil
}

// Entry is a name in a directory.
type Entry struct {
	Name string
	ID   ID
	Mode uint32
}

// List returns what is in a directory, in no order.
func (d *Disk) List(dir ID) ([]Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, err := d.dir(dir)
	if err != nil {
		return nil, err
	}
	all := make([]Entry, 0, len(parent.names))
	for name, id := range parent.names {
		all = append(all, Entry{name, id, d.nodes[id].mode})
	}
	return all, nil
}

func (d *Disk) dir(id ID) (*node, error) {
	switch n := d.nodes[id]; {
	case n == nil:
		return nil, syscall.ENOENT
	case !n.isDir():
		return nil, syscall.ENOTDIR
	default:
		return n, nil
	}
}

// Make makes a file or a directory, as the type in mode says.
func (d *Disk) Make(dir ID, name string, mode, uid, gid uint32) (ID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, err := d.dir(dir)
	if err != nil {
		return 0, err
	}
	if _, ok := parent.names[name]; ok {
		return 0, syscall.EEXIST
	}
	id := d.next
	d.next++
	d.nodes[id] = newNode(mode, uid, gid)
	d.set(place{dir, name}, id)
	return id, nil
}

// Symlink makes a symbolic link.
func (d *Disk) Symlink(dir ID, name, target string, uid, gid uint32) (ID, error) {
	id, err := d.Make(dir, name, syscall.S_IFLNK|0o777, uid, gid)
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.nodes[id].target = target
	}
	return id, err
}

// Target is where a symbolic link leads.
func (d *Disk) Target(id ID) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.nodes[id]; n != nil {
		return n.target, nil
	}
	return "", syscall.ENOENT
}

// Link adds to a file another name.
func (d *Disk) Link(id, dir ID, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, err := d.dir(dir)
	switch {
	case err != nil:
		return err
	case d.nodes[id] == nil:
		return syscall.ENOENT
	case d.nodes[id].isDir():
		return syscall.EPERM
	}
	if _, ok := parent.names[name]; ok {
		return syscall.EEXIST
	}
	d.set(place{dir, name}, id)
	return nil
}

// Remove takes away a name, of a directory when dirs, else of anything else.
func (d *Disk) Remove(dir ID, name string, dirs bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, err := d.dir(dir)
	if err != nil {
		return err
	}
	id, ok := parent.names[name]
	if !ok {
		return syscall.ENOENT
	}
	switch n := d.nodes[id]; {
	case n.isDir() && !dirs:
		return syscall.EISDIR
	case !n.isDir() && dirs:
		return syscall.ENOTDIR
	case len(n.names) > 0:
		return syscall.ENOTEMPTY
	}
	d.set(place{dir, name}, 0)
	return nil
}

// Rename moves a name; what has the new one is replaced.
func (d *Disk) Rename(dir ID, name string, newDir ID, newName string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	from, err := d.dir(dir)
	if err != nil {
		return err
	}
	to, err := d.dir(newDir)
	if err != nil {
		return err
	}
	id, ok := from.names[name]
	if !ok {
		return syscall.ENOENT
	}
	old, replaces := to.names[newName]
	if replaces && old == id {
		return nil
	}
	if d.nodes[id].isDir() && d.under(newDir, id) {
		return syscall.EINVAL
	}
	if replaces {
		switch was := d.nodes[old]; {
		case was.isDir() && !d.nodes[id].isDir():
			return syscall.EISDIR
		case !was.isDir() && d.nodes[id].isDir():
			return syscall.ENOTDIR
		case len(was.names) > 0:
			return syscall.ENOTEMPTY
		}
	}
	d.set(place{newDir, newName}, id)
	d.set(place{dir, name}, 0)
	return nil
}

// under reports whether a directory is another one or lies in it.
func (d *Disk) under(id, top ID) bool {
	for id != top {
		up := Root
		for p := range d.nodes[id].in {
			up = p.dir
		}
		if id == Root || up == id {
			return false
		}
		id = up
	}
	return true
}

// set changes what a name stands for now; 0 = nothing.
func (d *Disk) set(p place, id ID) {
	parent := d.nodes[p.dir]
	old := parent.names[p.name]
	if old != 0 {
		delete(d.nodes[old].in, p)
	}
	if id == 0 {
		delete(parent.names, p.name)
	} else {
		parent.names[p.name] = id
		d.nodes[id].in[p] = true
	}
	parent.unsynced[p.name], parent.changed = true, time.Now()
	d.drop(old)
}

// keep lets a name survive a power cut as it is now.
func (d *Disk) keep(p place) {
	parent := d.nodes[p.dir]
	if parent == nil {
		return
	}
	delete(parent.unsynced, p.name)
	now, old := parent.names[p.name], parent.kept[p.name]
	if now == old {
		return
	}
	if old != 0 {
		delete(d.nodes[old].keptIn, p)
	}
	if now == 0 {
		delete(parent.kept, p.name)
	} else {
		parent.kept[p.name] = now
		d.nodes[now].keptIn[p] = true
	}
	d.drop(old)
}

// drop forgets a node that nothing can lead to any more.
func (d *Disk) drop(id ID) {
	if n := d.nodes[id]; n != nil && id != Root && n.opens == 0 && len(n.in) == 0 && len(n.keptIn) == 0 {
		for name, child := range n.kept { // its names are lost with it
			delete(d.nodes[child].keptIn, place{id, name})
			delete(n.kept, name)
			d.drop(child)
		}
		delete(d.nodes, id)
	}
}
