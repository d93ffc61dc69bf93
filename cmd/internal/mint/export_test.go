package mint

import "errors"

// Check returns an error unless s is an ARK that ends with its right check character, as
// every name of a Minter does.
func Check(s string) error {
	a, err := Parse(s)
	if err != nil {
		return err
	}
	last := len(a.Name) - 1
	if !isBetanumeric(a.Name) || last < 1 || checkCharacter(a.NAAN+"/"+a.Name[:last]) != a.Name[last] {
		return errors.New("the check character does not fit")
	}
	return nil
}
