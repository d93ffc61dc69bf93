package recovery

import "context"

// Node is one node of a dump.
type Node struct {
	Data      string
	Ephemeral bool
}

// Dump returns every node below a name with its data, by name below the root. It is for
// tests and for support.
func (x *Inspector) Dump(ctx context.Context, name string) (map[string]Node, error) {
	paths, err := x.conn.Tree(ctx, x.root.At(name))
	all := make(map[string]Node, len(paths))
	for _, path := range paths {
		if n, gone := x.conn.Get(ctx, path); gone == nil {
			all[x.root.Name(path)] = Node{Data: string(n.Data), Ephemeral: n.Stat.EphemeralOwner != 0}
		}
	}
	return all, err
}
