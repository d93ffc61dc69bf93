package powercut

const pageSize = 4096

// content is what a file holds, in pages: those of the last sync, and over them
// those that were written since. A page that is in neither is zero.
type content struct {
	size, keptSize int64
	pages          map[int64][]byte
	dirty          map[int64][]byte // nil = zero, whatever was synced
}

func (c *content) page(i int64) []byte {
	if p, ok := c.dirty[i]; ok {
		return p
	}
	return c.pages[i]
}

// read fills buf from an offset and returns how much there was.
func (c *content) read(off int64, buf []byte) int {
	if off >= c.size {
		return 0
	}
	buf = buf[:min(int64(len(buf)), c.size-off)]
	for n := 0; n < len(buf); {
		at := off + int64(n)
		part := buf[n:min(len(buf), n+int(pageSize-at%pageSize))]
		if p := c.page(at / pageSize); p == nil {
			clear(part)
		} else {
			copy(part, p[at%pageSize:])
		}
		n += len(part)
	}
	return len(buf)
}

func (c *content) write(off int64, data []byte) {
	for n := 0; n < len(data); {
		at := off + int64(n)
		n += copy(c.open(at / pageSize)[at%pageSize:], data[n:])
	}
	c.size = max(c.size, off+int64(len(data)))
}

// open returns a page that may be written.
func (c *content) open(i int64) []byte {
	if p := c.dirty[i]; p != nil {
		return p
	}
	p := make([]byte, pageSize)
	copy(p, c.page(i))
	c.put(i, p)
	return p
}

func (c *content) put(i int64, p []byte) {
	if c.dirty == nil {
		c.dirty = map[int64][]byte{}
	}
	c.dirty[i] = p
}

// resize cuts the end off, or adds zeros.
func (c *content) resize(size int64) {
	if size < c.size {
		if rest := size % pageSize; rest != 0 && c.page(size/pageSize) != nil {
			clear(c.open(size / pageSize)[rest:])
		}
		first := (size + pageSize - 1) / pageSize
		for i := range c.dirty {
			if i >= first {
				delete(c.dirty, i)
			}
		}
		for i := range c.pages {
			if i >= first {
				c.put(i, nil)
			}
		}
	}
	c.size = size
}

func (c *content) sync() {
	for i, p := range c.dirty {
		switch {
		case p == nil:
			delete(c.pages, i)
		case c.pages == nil:
			c.pages = map[int64][]byte{i: p}
		default:
			c.pages[i] = p
		}
	}
	c.dirty, c.keptSize = nil, c.size
}

func (c *content) forget() { c.dirty, c.size = nil, c.keptSize }
