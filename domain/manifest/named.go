package manifest

import "fmt"

// CheckNamed checks that a deposit of a submission type names its object where it must,
// and nowhere else: fault and remedy are empty when it does.
func CheckNamed(submissionType string, many, named, update bool) (fault, remedy string) {
	switch {
	case many && named:
		return fmt.Sprintf("a deposit of type %s has many objects, and no one identifier", submissionType),
			fmt.Sprintf("name each in its row, in the column %s or %s", PrimaryIdentifier, LocalIdentifier)
	case !many && !named && update:
		return "an update must name its object", "give its identifier with --identifier, or the depositor's own name with --local-id"
	}
	return "", ""
}
