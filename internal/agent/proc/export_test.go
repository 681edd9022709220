package proc

// StartTied is startTied.
var StartTied = startTied
