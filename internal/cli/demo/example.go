package demo

// Example is the task of the demo, for who wants to run the same.
type Example struct {
	Text   string           // of the task
	Steps  []map[string]any // of the scripted agent
	Result string           // what the agent says in the end
	Edits  int              // changes of files on the way
}

// TheExample is in a language that every sandbox has, wherever it is.
func TheExample() Example {
	p := awk()
	return Example{Text: p.text(), Steps: p.steps(), Result: grouped(expected()), Edits: 2}
}
