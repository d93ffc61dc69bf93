package stack

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The set-up script in made-up machines: what it says, what it runs, how it ends.
func TestSetupScript(t *testing.T) {
	t.Parallel()
	const all = "apt-get install --yes --no-install-recommends -o DPkg::Lock::Timeout=300 default-jre-headless libzookeeper-java libslf4j-java postgresql"
	debian := map[string]string{"etc/os-release": "ID=debian\n"}
	ready := map[string]string{
		"bin/java": "", "usr/share/java/zookeeper.jar": "", "usr/share/java/slf4j-simple.jar": "",
		"usr/lib/postgresql/15/bin/initdb": "", "usr/include/stdlib.h": "", "bin/gcc": "",
	}
	for name, c := range map[string]struct {
		args   []string
		files  []map[string]string
		status int
		ran    []string // commands, in their order
		says   []string
	}{
		"all there": {files: []map[string]string{ready}, args: []string{"test"}},
		"fresh Debian": {
			files: []map[string]string{debian}, status: 1, // the made-up apt-get installs nothing
			ran:  []string{"apt-get update", all},
			says: []string{"missing: a Java runtime, ZooKeeper's jar, the slf4j-simple jar, PostgreSQL's server", "still missing"},
		},
		"fresh Debian, tests": {
			files: []map[string]string{debian}, args: []string{"test"}, status: 1,
			ran:  []string{"apt-get update", all + " gcc libc6-dev"},
			says: []string{"a C compiler", "headers"},
		},
		"Ubuntu, one thing": {
			files: []map[string]string{ready, {"etc/os-release": "ID=pop\nID_LIKE=\"ubuntu debian\"\n", "usr/share/java/zookeeper.jar": "absent"}}, status: 1,
			ran:  []string{"libzookeeper-java"},
			says: []string{"missing: ZooKeeper's jar\n"},
		},
		"another system": {
			files: []map[string]string{{"etc/os-release": "ID=fedora\n"}}, status: 1,
			says: []string{"not Debian", "a Java runtime", "compose.yaml"},
		},
		"old Go":           {files: []map[string]string{ready, {"bin/go": "go1.19.8"}}, status: 1, says: []string{"go1.19.8 is too old", "https://go.dev/dl/"}},
		"no Go":            {files: []map[string]string{ready, {"bin/go": "absent"}}, status: 1, says: []string{"Go is missing"}},
		"unknown argument": {args: []string{"everything"}, status: 2, says: []string{"usage"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machine := newMachine(t, c.files...)
			script, err := filepath.Abs(filepath.Join(root, "deploy/setup/install.sh"))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", append([]string{script}, c.args...)...)
			cmd.Env = []string{"PATH=" + filepath.Join(machine, "bin"), "ACCESSION_SETUP_ROOT=" + machine}
			out, err := cmd.CombinedOutput()
			if status := exitCode(t, err); status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if c.status == 0 && len(out) > 0 {
				t.Errorf("it is not silent")
			}
			said := string(out)
			for _, part := range append(c.says, c.ran...) {
				at := strings.Index(said, part)
				if at < 0 {
					t.Errorf("it does not say %q (in this order)", part)
				}
				if slices.Contains(c.ran, part) {
					said = said[max(0, at):]
				}
			}
			if len(c.ran) == 0 && strings.Contains(said, "RAN apt-get") {
				t.Error("it installs")
			}
			if _, err := os.Stat(filepath.Join(machine, "etc/postgresql-common/createcluster.d/accession-setup.conf")); err == nil {
				t.Error("the ban on clusters stays behind")
			}
			if t.Failed() {
				t.Logf("output:\n%s", out)
			}
		})
	}
}

// newMachine makes a root directory with the few programs that the script needs,
// an apt-get that only prints its arguments, and the files given on top: a
// program in bin prints its content, "absent" takes a file away.
func newMachine(t *testing.T, layers ...map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"bin/go": "go1.26.0", "bin/id": "0"}
	for _, layer := range layers {
		for name, content := range layer {
			files[name] = content
		}
	}
	for name, content := range files {
		if content == "absent" {
			continue
		}
		if strings.HasPrefix(name, "bin/") {
			content = "#!/bin/sh\necho " + content + "\n"
		}
		writeFile(t, filepath.Join(dir, name), content)
	}
	writeFile(t, filepath.Join(dir, "bin/apt-get"), "#!/bin/sh\necho RAN apt-get \"$@\"\n")
	for _, tool := range []string{"env", "grep", "mkdir", "rm", "tee"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, "bin", tool)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}
