package recovery

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// Node is one node of a dump.
type Node struct {
	Data      string
	Ephemeral bool
}

// Dump returns every node below a name with its data, by name below the root. It is for
// tests and for support.
func (x *Inspector) Dump(ctx context.Context, name string) (map[string]Node, error) {
	all := map[string]Node{}
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		path := x.root.At(todo[0])
		n, err := x.conn.Get(ctx, path)
		if err == nil {
			all[todo[0]] = Node{Data: string(n.Data), Ephemeral: n.Stat.EphemeralOwner != 0}
			n, err = x.conn.Children(ctx, path)
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return all, err
		}
		for _, child := range n.Names {
			todo = append(todo, todo[0]+"/"+child)
		}
	}
	return all, nil
}
