package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Debian's jar names its dependencies in its manifest; only a logger is missing.
const (
	zooKeeperJar = "/usr/share/java/zookeeper.jar"
	loggerJar    = "/usr/share/java/slf4j-simple.jar"
)

type zooKeeper struct {
	dir  string
	port int
	heap int64 // bytes
}

func newZooKeeper(dir string, port int, heap int64) *zooKeeper {
	return &zooKeeper{dir: dir, port: port, heap: cmp.Or(heap, DefaultHeap)}
}

func (z *zooKeeper) address() string            { return loopback(z.port) }
func (z *zooKeeper) data() string               { return z.dir }
func (z *zooKeeper) marker() string             { return z.config() }
func (z *zooKeeper) stopSignal() syscall.Signal { return syscall.SIGTERM }
func (z *zooKeeper) config() string             { return filepath.Join(z.dir, "zoo.cfg") }
func (z *zooKeeper) fresh() bool                { return z.snapshots() == 0 }

func (z *zooKeeper) snapshots() int {
	files, _ := filepath.Glob(filepath.Join(z.dir, "version-2", "snapshot.*"))
	return len(files)
}

// prepare writes zoo.cfg. tickTime 500 allows sessions from one second on;
// syncing every transaction is the default.
func (z *zooKeeper) prepare(context.Context, *launcher) error {
	if err := os.MkdirAll(z.dir, 0o700); err != nil {
		return err
	}
	cfg := fmt.Sprintf(`tickTime=500
minSessionTimeout=1000
maxSessionTimeout=60000
dataDir=%s
clientPortAddress=127.0.0.1
clientPort=%d
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
preAllocSize=8192
autopurge.snapRetainCount=3
autopurge.purgeInterval=1
`, z.dir, z.port)
	return os.WriteFile(z.config(), []byte(cfg), 0o644)
}

func (z *zooKeeper) command() (*exec.Cmd, error) {
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	args := []string{
		// A transition leaves some 40 KiB of garbage: a large young generation is
		// collected seldom, and a heap that has its size at once is not collected whole
		// at each step of its growth. Memory that is not used is not taken.
		fmt.Sprintf("-Xms%dm", min(1<<10, z.heap>>20)), "-Xmn256m", fmt.Sprintf("-Xmx%dm", z.heap>>20), "-XX:+UseSerialGC", "-XX:+PerfDisableSharedMem", "-XX:+ExitOnOutOfMemoryError",
		"-Djava.net.preferIPv4Stack=true",
		// A digest of the whole tree, kept up to date with each write and compared
		// when it is read from disk. Transactions on disk have checksums of their own.
		"-Dzookeeper.digest.enabled=false",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
	}
	if z.snapshots() < 2 {
		// The first snapshot is not synced. When a power cut takes it, the synced
		// transaction log, complete until the second one, must be trusted alone:
		// without this the server would refuse to start.
		args = append(args, "-Dzookeeper.snapshot.trust.empty=true")
	}
	args = append(args, "-cp", zooKeeperJar+string(os.PathListSeparator)+loggerJar,
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", z.config())
	cmd := exec.Command(java, args...)
	cmd.Dir = z.dir
	return cmd, nil
}

// healthy asks for the configuration, which only a serving server answers; its
// data directory says whose it is.
func (z *zooKeeper) healthy(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp4", z.address())
	if err != nil {
		return err
	}
	defer conn.Close()            //nolint:errcheck // only read
	deadline, _ := ctx.Deadline() // zero means none, here too
	err = conn.SetDeadline(deadline)
	if err == nil {
		_, err = io.WriteString(conn, "conf")
	}
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 1<<16))
	if err != nil {
		return err
	}
	if !strings.Contains(string(answer), "dataDir="+z.dir+string(filepath.Separator)) {
		return errors.New("does not serve this data directory: " + strings.TrimSpace(string(answer)))
	}
	return nil
}

func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if java, err := exec.LookPath(filepath.Join(home, "bin", "java")); err == nil {
			return java, nil
		}
	}
	return exec.LookPath("java")
}
