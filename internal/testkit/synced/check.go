package synced

import (
	"fmt"
	"path"
	"strings"
)

// call is a system call about names, or about what is on disk.
type call struct {
	what     string // sync, move, link, remove, mkdir
	name, to string // to: of move and link
}

// check finds what would not outlast a power cut, of what was placed below dir: files
// that had their names before their bytes were on disk, and names that were not.
func check(calls []call, dir string) (placed, faults []string) {
	written := map[string]bool{} // bytes on disk, by the name of now
	unnamed := map[string]bool{} // directory entries that are not on disk yet
	last := map[string]bool{}    // placed by a move or a link, and still there
	for _, c := range calls {
		switch c.what {
		case "sync":
			written[c.name] = true
			for name := range unnamed {
				if path.Dir(name) == c.name {
					delete(unnamed, name)
				}
			}
		case "mkdir":
			unnamed[c.name] = true
		case "remove":
			delete(written, c.name)
			delete(unnamed, c.name)
			delete(last, c.name)
		case "move", "link":
			if !strings.HasPrefix(c.to, dir+"/") {
				continue
			}
			written[c.to], unnamed[c.to], last[c.to] = written[c.name], true, true
			if c.what == "move" {
				delete(written, c.name)
				delete(unnamed, c.name)
				delete(last, c.name)
			}
			if !written[c.to] {
				faults = append(faults, fmt.Sprintf("%s got its name before its bytes were on disk", c.to))
			}
		}
	}
	for name := range last {
		placed = append(placed, name)
		for entry := name; strings.HasPrefix(entry, dir+"/"); entry = path.Dir(entry) {
			if unnamed[entry] {
				faults = append(faults, fmt.Sprintf("the name of %s is not on disk", entry))
			}
		}
	}
	return placed, faults
}
