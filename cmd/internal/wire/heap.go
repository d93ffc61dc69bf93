package wire

import (
	"context"
	"io"
	"net"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/app/standing"
)

// heapTimeout is how long a server may take to say how large its heap is.
const heapTimeout = time.Second

// heapOf finds the size of the heap in what a ZooKeeper server says of its environment.
var heapOf = regexp.MustCompile(`(?m)^os\.memory\.max=(\d+)MB$`)

// heap compares zookeeper_heap with the smallest heap of the servers, nil = none of them
// said how large its heap is.
func (in *Installation) heap(ctx context.Context) *standing.Heap {
	ctx, cancel := context.WithTimeout(ctx, heapTimeout)
	defer cancel()
	sizes := make([]int64, len(in.cfg.ZooKeeper))
	var g errgroup.Group
	for i, server := range in.cfg.ZooKeeper {
		g.Go(func() error { sizes[i] = askHeap(ctx, server); return nil })
	}
	_ = g.Wait() // a server that does not say it is passed over
	var smallest *standing.Heap
	for i, size := range sizes {
		if size > 0 && (smallest == nil || size < smallest.Bytes) {
			smallest = &standing.Heap{Setting: int64(in.cfg.ZooKeeperHeap), Server: in.cfg.ZooKeeper[i], Bytes: size}
		}
	}
	return smallest
}

// askHeap returns the size of the heap of a server, 0 = it does not say it. The command
// `envi` needs no session, and must be allowed on the server.
func askHeap(ctx context.Context, server string) int64 {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", server)
	if err != nil {
		return 0
	}
	defer conn.Close() //nolint:errcheck // only read
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return 0
		}
	}
	if _, err := io.WriteString(conn, "envi"); err != nil {
		return 0
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 1<<16))
	if err != nil {
		return 0
	}
	found := heapOf.FindSubmatch(answer)
	if found == nil {
		return 0
	}
	mib, err := strconv.ParseInt(string(found[1]), 10, 32)
	if err != nil {
		return 0
	}
	return mib << 20
}
