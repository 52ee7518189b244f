module github.com/train-host/host/sdk/go

go 1.24
