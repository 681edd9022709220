package worker

import (
	"encoding"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/contract"
)

// payloadNames is the file of all JSON names that histories may hold.
const payloadNames = "testdata/payload-names.txt"

// TestPayloadNames_AreOnlyAddedTo compares the JSON names of all inputs, results, signals and queries with those that are frozen.
// OMOI_TEST_UPDATE=1 adds new ones to the file.
func TestPayloadNames_AreOnlyAddedTo(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(payloadNames)
	require.NoError(t, err)
	frozen, now := strings.Fields(string(raw)), currentNames()
	for _, name := range frozen {
		require.Contains(t, now, name, "this name was renamed or removed, or its type changed, and histories may hold it")
	}
	if os.Getenv("OMOI_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(payloadNames, []byte(strings.Join(now, "\n")+"\n"), 0o600))
		return
	}
	require.Equal(t, frozen, now, "new names are frozen too: run this test with OMOI_TEST_UPDATE=1")
}

// messageTypes is what histories freeze of each signal and query.
func messageTypes() map[string]any {
	return map[string]any{
		contract.SignalSandboxEvents:  contract.Digest{},
		contract.SignalCommand:        contract.Command{},
		contract.SignalCheck:          contract.CheckSignal{},
		contract.SignalSandboxDeleted: contract.SandboxDeletedSignal{},
		contract.QueryState:           contract.TaskView{},
		"error":                       contract.ErrorDetails{}, // of each activity that failed
	}
}

// currentNames returns each name with the path to it and its kind, in order.
func currentNames() (names []string) {
	for _, functions := range []map[string]any{activityTypes(), workflowTypes()} {
		for name, fn := range functions {
			of := reflect.TypeOf(fn)
			for n := 1; n < of.NumIn(); n++ {
				names = append(names, namesOf(name+".input", of.In(n))...)
			}
			for n := range of.NumOut() - 1 {
				names = append(names, namesOf(name+".result", of.Out(n))...)
			}
		}
	}
	for name, message := range messageTypes() {
		names = append(names, namesOf(name, reflect.TypeOf(message))...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// namesOf returns the names below a path.
func namesOf(path string, of reflect.Type) (names []string) {
	switch {
	case writesItself(of):
		return []string{path + ":" + of.String()}
	case of.Kind() == reflect.Pointer:
		return namesOf(path, of.Elem())
	case of.Kind() == reflect.Slice:
		return namesOf(path+"[]", of.Elem())
	case of.Kind() == reflect.Map:
		return namesOf(path+"{}", of.Elem())
	case of.Kind() != reflect.Struct:
		return []string{path + ":" + of.Kind().String()}
	}
	for field := range of.Fields() {
		names = append(names, namesOfField(path, field)...)
	}
	return names
}

func namesOfField(path string, field reflect.StructField) []string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case name == "-" || !field.IsExported():
		return nil
	case name == "" && field.Anonymous:
		return namesOf(path, field.Type)
	case name == "":
		name = field.Name
	}
	return namesOf(path+"."+name, field.Type)
}

// writesItself reports whether a type has a JSON form of its own.
func writesItself(of reflect.Type) bool {
	return of.Implements(reflect.TypeFor[json.Marshaler]()) || of.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
