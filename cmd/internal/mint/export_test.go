package mint

import "errors"

// Check returns an error unless s is an identifier that ends with its right check character, as
// every name of a Minter does.
func Check(s string) error {
	id, err := Parse(s)
	if err != nil {
		return err
	}
	last := len(id.Name) - 1
	if !isBetanumeric(id.Name) || last < 1 || checkCharacter(id.Authority+"/"+id.Name[:last]) != id.Name[last] {
		return errors.New("the check character does not fit")
	}
	return nil
}
