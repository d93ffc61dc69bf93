package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Processes run the program without the race detector, which only finds what the tests that
// serve in their own process come by too.
var (
	builds    sync.Mutex
	buildsDir string // "" when no test needed a build
)

// released builds the program, once; crashing builds it with crash points.
var (
	released = sync.OnceValues(func() (string, error) { return build("accession") })
	crashing = sync.OnceValues(func() (string, error) { return build("accession-crashing", "-tags=crashpoints") })
)

func build(name string, flags ...string) (binary string, err error) {
	builds.Lock()
	defer builds.Unlock()
	if buildsDir == "" {
		if buildsDir, err = os.MkdirTemp("", "accession-builds-"); err != nil {
			return "", err
		}
	}
	binary = filepath.Join(buildsDir, name)
	out, err := exec.Command("go", append(append([]string{"build", "-o", binary}, flags...), "..")...).CombinedOutput() //nolint:noctx // as long as it takes
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
}
