"""The models of lesson 10: a trained date translator (`dates`) and broken attentions (`attentions`)."""
