module loss-ceiling

go 1.24

require github.com/train-host/host/sdk/go v0.0.0

replace github.com/train-host/host/sdk/go => ../../../sdk/go
