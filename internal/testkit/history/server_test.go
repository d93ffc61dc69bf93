package history_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/internal/testkit/history"
)

// TestReadLog lets two sessions do what they must not, on a real server, and finds it
// in the server's own log.
func TestReadLog(t *testing.T) {
	t.Parallel()
	server := os.Getenv("ACCESSION_TEST_ZOOKEEPER")
	if server == "" {
		t.Fatal("ACCESSION_TEST_ZOOKEEPER is not set: run the tests through `make test` or `accession stack exec -- go test ./...`")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	connect := func() *zk.Conn {
		conn, _, err := zk.Connect([]string{server}, 10*time.Second, zk.WithLogInfo(false))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn
	}
	mine, theirs := connect(), connect()
	root := "/test-" + uuid.NewString()
	acl := zk.WorldACL(zk.PermAll)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, before, err := history.Server(ctx, server)
	must(nil, err)
	nodes := []string{root, root + "/jobs", root + "/jobs/jid0000000001", root + "/workers"}
	for _, path := range nodes {
		must(mine.Create(path, nil, 0, acl))
	}
	lock := root + theLock
	must(mine.Create(root+"/workers/me", nil, zk.FlagEphemeral, acl))
	must(mine.Create(lock, []byte(`{"holder":"me"}`), zk.FlagEphemeral, acl))
	_, err = theirs.Multi(&zk.DeleteRequest{Path: lock, Version: -1}, &zk.CheckVersionRequest{Path: root, Version: 7})
	if err == nil {
		t.Fatal("a write was carried out whose proof does not hold")
	}
	must(theirs.Multi(&zk.DeleteRequest{Path: lock, Version: -1}, &zk.CreateRequest{Path: lock, Flags: zk.FlagEphemeral, Acl: acl},
		&zk.SetDataRequest{Path: root, Data: []byte("x"), Version: -1}))
	theirs.Close() // its lock goes with it
	must(mine.Create(lock, []byte("mine"), zk.FlagEphemeral, acl))
	must(nil, mine.Delete(lock, -1))
	for _, path := range []string{root + "/workers/me", nodes[3], nodes[2], nodes[1], nodes[0]} {
		must(nil, mine.Delete(path, -1))
	}

	dir, upTo, err := history.Server(ctx, server)
	must(nil, err)
	claims, kinds := history.NewClaims(), map[history.Kind]int{}
	must(nil, history.ReadLog(dir, root, before, upTo, func(w history.Write) {
		claims.Write(w)
		for _, op := range w.Ops {
			kinds[op.Kind]++
		}
	}))
	if got := claims.Faults(); len(got) != 1 || !strings.Contains(got[0], "is removed, and is session") {
		t.Errorf("found %q, want one lock removed by another session", got)
	}
	if kinds[history.Create] != 8 || kinds[history.Delete] != 7 || kinds[history.SetData] != 1 || kinds[history.CloseSession] < 1 {
		t.Errorf("operations by kind: %v", kinds)
	}
	if err := history.ReadLog(dir, root, before, upTo+1_000_000, func(history.Write) {}); err == nil {
		t.Error("a log is read beyond its end")
	}
	if err := history.ReadLog(t.TempDir(), root, before, upTo, func(history.Write) {}); err == nil {
		t.Error("no log is no error")
	}
}
