package exit

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flag turns what the parser of flags complains about into a plain sentence.
func Flag(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() { // a command that does not exist matters more than its flags
		if wrong := cmd.ValidateArgs(cmd.Flags().Args()); wrong != nil {
			return With(Usage, wrong)
		}
	}
	return Usagef("%s (see %s --help)", flagSays(err), cmd.CommandPath())
}

func flagSays(err error) string {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Sprintf("--%s %s: %s", wrong.GetFlag().Name, wrong.GetValue(), wanted(wrong.GetFlag().Value.Type(), wrong))
	}
	if none, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return fmt.Sprintf("--%s needs a value", none.GetFlag().Name)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := "--" + unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			name = "-" + unknown.GetSpecifiedName()
		}
		return "there is no flag " + name
	}
	return err.Error()
}

// wanted says what a flag of a type takes.
func wanted(kind string, err error) string {
	switch kind {
	case "duration":
		return "give a time with its unit, as 90s, 10m or 2h"
	case "float64":
		return "give a number"
	case "int", "int64":
		return "give a whole number"
	case "bool":
		return "give true or false"
	}
	return errors.Unwrap(err).Error()
}
