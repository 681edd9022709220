package proc

// StartTied starts a command that dies with this process.
var StartTied = startTied
