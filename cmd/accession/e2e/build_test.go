package e2e

import (
	"cmp"
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
	kept := os.Getenv("ACCESSION_TEST_BUILDS") // of runs of the tests that share their builds
	binary, made := filepath.Join(cmp.Or(kept, buildsDir), name), filepath.Join(buildsDir, name+".new")
	if _, err := os.Stat(binary); err == nil && kept != "" {
		return binary, nil
	}
	out, err := exec.Command("go", append(append([]string{"build", "-o", made}, flags...), "..")...).CombinedOutput() //nolint:noctx // as long as it takes
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	if err := os.Rename(made, binary); err != nil {
		return "", err
	}
	return binary, nil
}
