package history

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
)

var (
	logDir   = regexp.MustCompile(`(?m)^dataLogDir=(.+)$`)
	lastZxid = regexp.MustCompile(`(?m)^Zxid: 0x([0-9a-f]+)$`)
)

// Server asks a ZooKeeper where it keeps its log, and for its last transaction.
func Server(ctx context.Context, address string) (dir string, zxid int64, err error) {
	if dir, err = query(ctx, address, "conf", logDir); err != nil {
		return "", 0, err
	}
	text, err := query(ctx, address, "srvr", lastZxid)
	if err != nil {
		return "", 0, err
	}
	zxid, err = strconv.ParseInt(text, 16, 64)
	return dir, zxid, err
}

func query(ctx context.Context, address, command string, pattern *regexp.Regexp) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // only read
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 1<<16))
	if err != nil {
		return "", err
	}
	found := pattern.FindSubmatch(answer)
	if found == nil {
		return "", fmt.Errorf("ZooKeeper answered %s with %q", command, answer)
	}
	return strings.TrimSpace(string(found[1])), nil
}
