package stack

import (
	"fmt"
	"os"
	"strings"
)

// MissingTool is something that a stack needs and the machine lacks.
type MissingTool struct {
	Name    string // what was looked for
	Package string // the Debian and Ubuntu package that brings it
}

// MissingError lists all that must be installed before a stack can start.
type MissingError struct{ Tools []MissingTool }

func (e *MissingError) Error() string {
	var names, packages []string
	for _, t := range e.Tools {
		names = append(names, t.Name)
		packages = append(packages, t.Package)
	}
	return fmt.Sprintf("stack: not installed: %s: run `make setup` (Debian packages: %s), or use compose.yaml",
		strings.Join(names, ", "), strings.Join(packages, " "))
}

// Missing names what is not installed, in the order in which to install it; empty
// when a stack can start.
func Missing() []MissingTool {
	var missing []MissingTool
	if _, err := findJava(); err != nil {
		missing = append(missing, MissingTool{Name: "java", Package: "default-jre-headless"})
	}
	for _, jar := range []MissingTool{{zooKeeperJar, "libzookeeper-java"}, {loggerJar, "libslf4j-java"}} {
		if _, err := os.Stat(jar.Name); err != nil {
			missing = append(missing, jar)
		}
	}
	if _, err := findPostgres(""); err != nil {
		missing = append(missing, MissingTool{Name: "initdb and postgres", Package: "postgresql"})
	}
	return missing
}
