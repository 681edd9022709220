package task

import (
	"regexp"
	"strings"
)

// Kinds of objects that have a key beside their ID.
const (
	KeyedProject = "project"
	KeyedTask    = "task"
	KeyedTicket  = "ticket"
)

//nolint:gochecknoglobals // a constant table
var keyForms = map[string]*regexp.Regexp{
	KeyedProject: regexp.MustCompile(`^[A-Z][A-Z0-9]{1,9}$`),
	KeyedTask:    regexp.MustCompile(`^[A-Z][A-Z0-9]{1,9}-[1-9][0-9]{0,9}$`),
	KeyedTicket:  regexp.MustCompile(`^[A-Z][A-Z0-9]{1,9}-T[1-9][0-9]{0,9}$`),
}

// KeyOf returns the key that ref writes, in capitals, and reports whether objects of that kind have such keys: APP, APP-12 or APP-T7.
func KeyOf(kind, ref string) (key string, ok bool) {
	form, ok := keyForms[kind]
	key = strings.ToUpper(ref)
	return key, ok && form.MatchString(key)
}
